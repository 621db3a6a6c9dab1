/** `--runtime-config=api/all=true` serves the group versions of kube-apiserver 1.34, no others. */
import assert from "node:assert/strict";
import { startServer } from "../../../cmd/keelson/index.ts";

/** With kube-apiserver's default feature gates. */
const ofDefaultGates = [
  "admissionregistration.k8s.io/v1",
  "admissionregistration.k8s.io/v1alpha1",
  "admissionregistration.k8s.io/v1beta1",
  "apiextensions.k8s.io/v1",
  "apiregistration.k8s.io/v1",
  "apps/v1",
  "authentication.k8s.io/v1",
  "authorization.k8s.io/v1",
  "autoscaling/v1",
  "autoscaling/v2",
  "batch/v1",
  "certificates.k8s.io/v1",
  "coordination.k8s.io/v1",
  "coordination.k8s.io/v1alpha2",
  "coordination.k8s.io/v1beta1",
  "discovery.k8s.io/v1",
  "events.k8s.io/v1",
  "flowcontrol.apiserver.k8s.io/v1",
  "internal.apiserver.k8s.io/v1alpha1",
  "networking.k8s.io/v1",
  "networking.k8s.io/v1beta1",
  "node.k8s.io/v1",
  "policy/v1",
  "rbac.authorization.k8s.io/v1",
  "resource.k8s.io/v1",
  "resource.k8s.io/v1alpha3",
  "resource.k8s.io/v1beta1",
  "resource.k8s.io/v1beta2",
  "scheduling.k8s.io/v1",
  "storage.k8s.io/v1",
  "storage.k8s.io/v1alpha1",
  "storage.k8s.io/v1beta1",
  "v1",
];

/** Group versions of which every resource needs a feature gate that is off by default. */
const ofGates = {
  ClusterTrustBundle: ["certificates.k8s.io/v1alpha1", "certificates.k8s.io/v1beta1"],
  PodCertificateRequest: ["certificates.k8s.io/v1alpha1"],
  StorageVersionMigrator: ["storagemigration.k8s.io/v1alpha1"],
} as const;

async function servedWith(gates: readonly string[]): Promise<readonly string[]> {
  const server = await startServer({
    controllers: false,
    runtimeConfig: new Map([["api/all", "true"]]),
    featureGates: new Map(gates.map((gate) => [gate, "true"])),
  });
  try {
    const get = async (path: string) => (await (await server.fetch(path)).json()) as any;
    const [core, { groups }] = await Promise.all([get("/api"), get("/apis")]);
    const named = groups.flatMap((group: any) => group.versions.map((v: any) => v.groupVersion));
    return [...core.versions, ...named].sort();
  } finally {
    await server.close();
  }
}

describe("--runtime-config=api/all=true", () => {
  it("serves the 33 group versions of kube-apiserver", async () => {
    assert.equal(ofDefaultGates.length, 33);
    assert.deepEqual(await servedWith([]), ofDefaultGates);
  });

  for (const [gate, versions] of Object.entries(ofGates)) {
    it(`serves ${versions.join(" and ")} as well with ${gate}`, async () => {
      assert.deepEqual(await servedWith([gate]), [...ofDefaultGates, ...versions].sort());
    });
  }
});
