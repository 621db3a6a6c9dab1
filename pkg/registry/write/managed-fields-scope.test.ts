import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { setOf } from "#fieldmanager";
import { trackedFieldsOf } from "./managed-fields-scope.ts";

/**
 * Fields that writes through an endpoint reset, where they differ from the default: `status` for the
 * main endpoint of kinds that have one, `spec` for `/status`. Source: GetResetFields of the strategies
 * of Kubernetes 1.34.
 */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "APIService/status": ["metadata", "spec"],
  "CertificateSigningRequest/": ["spec", "status"],
  "CertificateSigningRequest/approval": ["spec", "status.certificate"],
  "CertificateSigningRequest/status": ["spec", "status.conditions"],
  "CustomResourceDefinition/status": ["metadata", "spec"],
  "Deployment/status": ["metadata.labels", "spec"],
  "FlowSchema/status": ["metadata", "spec"],
  "Namespace/finalize": ["status"],
  // The strategy of the main resource names none.
  "PodCertificateRequest/": [],
  "Pod/ephemeralcontainers": [],
  "Pod/resize": [],
  "Pod/status": ["metadata.deletionTimestamp", "metadata.ownerReferences", "spec"],
  "PriorityLevelConfiguration/status": ["metadata", "spec"],
  // The strategies name fields of the group "networking", which does not exist.
  "ServiceCIDR/": [],
  "ServiceCIDR/status": [],
  "StorageVersion/status": ["metadata", "spec"],
  "StorageVersionMigration/status": ["metadata", "spec"],
  "ValidatingAdmissionPolicy/status": ["metadata", "spec"],
  "VolumeAttachment/status": ["metadata", "spec"],
};

/** Endpoints that take the kind itself; other subresources have a body of another kind. */
const storedSubresources = ["", "status", "approval", "finalize", "ephemeralcontainers", "resize"];

describe("fields that managedFields tracks", () => {
  for (const kind of builtinKinds) {
    const names = kind.subresources.map(({ name }) => name);
    for (const endpoint of storedSubresources.filter(
      (each) => each === "" || names.includes(each),
    )) {
      const key = `${kind.kind}/${endpoint}`;
      it(`exclude those that Kubernetes resets in ${key}`, () => {
        const hasStatus = names.includes("status");
        const usual = endpoint === "status" ? ["spec"] : hasStatus ? ["status"] : [];
        const paths = (exceptions[key] ?? usual).map((path) =>
          path.split(".").map((step) => `f:${step}`),
        );
        assert.deepEqual(trackedFieldsOf(kind, endpoint).ignored, setOf(...paths));
      });
    }
  }

  it("are tested for existing kinds only", () => {
    const known = new Set(builtinKinds.map(({ kind }) => kind));
    for (const key of Object.keys(exceptions)) assert(known.has(key.split("/")[0] ?? ""), key);
  });
});
