/** Fields that stay as they were created: every write that changes one is refused at that field. */
import assert from "node:assert/strict";
import { StatusError } from "#meta";
import { testRegistry, type TestRegistry } from "../testing.ts";

interface Row {
  /** Group, version and resource; objects of a namespace are made in `n`. */
  readonly resource: string;
  readonly isClusterScoped?: boolean;
  readonly object: Readonly<Record<string, unknown>>;
  /** Field that is changed -> its new value, and the field of the cause where that is another. */
  readonly changes: Readonly<Record<string, readonly [value: unknown, cause?: string]>>;
  /** Fields beside it that may change. */
  readonly mutable: Readonly<Record<string, unknown>>;
}

const matchLabels = { app: "a" };
const template = {
  metadata: { labels: matchLabels },
  spec: { containers: [{ name: "c", image: "i" }] },
};
const workload = { selector: { matchLabels }, template };
const more = { matchLabels: { app: "a", b: "c" } };
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" };
const once = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
const resources = { requests: { storage: "1Gi" } };

const rows: readonly Row[] = [
  {
    resource: "apps/v1/controllerrevisions",
    object: { data: { a: 1 }, revision: 1 },
    changes: { data: [{ a: 2 }] },
    mutable: { revision: 2 },
  },
  ...["daemonsets", "deployments", "replicasets"].map((plural) => ({
    resource: `apps/v1/${plural}`,
    object: { spec: workload },
    changes: { "spec.selector": [more] as const },
    mutable: { "spec.minReadySeconds": 5 },
  })),
  {
    resource: "apps/v1/statefulsets",
    object: { spec: { ...workload, serviceName: "s" } },
    changes: {
      "spec.selector": [more, "spec"],
      "spec.serviceName": ["t", "spec"],
      "spec.podManagementPolicy": ["Parallel", "spec"],
      "spec.volumeClaimTemplates": [
        [{ metadata: { name: "d" }, spec: { accessModes: ["ReadWriteOnce"], resources } }],
        "spec",
      ],
    },
    mutable: { "spec.replicas": 3, "spec.minReadySeconds": 5 },
  },
  {
    resource: "batch/v1/jobs",
    object: { spec: { template: once, completions: 2, completionMode: "NonIndexed" } },
    changes: {
      "spec.completions": [3],
      "spec.completionMode": ["Indexed"],
      "spec.managedBy": ["example.com/x"],
      "spec.podFailurePolicy": [{ rules: [] }],
    },
    mutable: { "spec.parallelism": 2, "spec.backoffLimit": 1 },
  },
  {
    resource: "v1/persistentvolumeclaims",
    object: { spec: { accessModes: ["ReadWriteOnce"], resources } },
    changes: {
      "spec.accessModes": [["ReadOnlyMany"], "spec"],
      "spec.volumeMode": ["Block", "spec"],
    },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "v1/resourcequotas",
    object: { spec: { hard: { pods: "1" }, scopes: ["BestEffort"] } },
    changes: { "spec.scopes": [["NotBestEffort"]] },
    mutable: { "spec.hard": { pods: "2" } },
  },
  {
    resource: "v1/secrets",
    object: { type: "example.com/a" },
    changes: { type: ["example.com/b"] },
    mutable: { stringData: { a: "b" } },
  },
  {
    resource: "v1/services",
    object: { spec: { ports: [{ port: 80 }], clusterIP: "10.0.0.20" } },
    changes: { "spec.clusterIP": ["10.0.0.21", "spec.clusterIPs[0]"] },
    mutable: { "spec.sessionAffinity": "ClientIP" },
  },
  {
    resource: "discovery.k8s.io/v1/endpointslices",
    object: { addressType: "IPv4", endpoints: [], ports: [] },
    changes: { addressType: ["IPv6"] },
    mutable: { endpoints: [{ addresses: ["10.0.0.1"] }] },
  },
  {
    resource: "networking.k8s.io/v1/ingressclasses",
    isClusterScoped: true,
    object: { spec: { controller: "example.com/a" } },
    changes: { "spec.controller": ["example.com/b"] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "node.k8s.io/v1/runtimeclasses",
    isClusterScoped: true,
    object: { handler: "a" },
    changes: { handler: ["b"] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "rbac.authorization.k8s.io/v1/rolebindings",
    object: { roleRef },
    changes: { roleRef: [{ ...roleRef, name: "s" }] },
    mutable: { subjects: [{ apiGroup: roleRef.apiGroup, kind: "User", name: "u" }] },
  },
  {
    resource: "rbac.authorization.k8s.io/v1/clusterrolebindings",
    isClusterScoped: true,
    object: { roleRef },
    changes: { roleRef: [{ ...roleRef, name: "s" }] },
    mutable: { subjects: [{ apiGroup: roleRef.apiGroup, kind: "User", name: "u" }] },
  },
  {
    resource: "scheduling.k8s.io/v1/priorityclasses",
    isClusterScoped: true,
    object: { value: 5 },
    changes: { value: [6], preemptionPolicy: ["Never"] },
    mutable: { description: "other" },
  },
  {
    resource: "storage.k8s.io/v1/csidrivers",
    isClusterScoped: true,
    object: { spec: {} },
    changes: {
      "spec.attachRequired": [false, "spec.attachedRequired"],
      "spec.volumeLifecycleModes": [["Ephemeral"]],
    },
    mutable: { "spec.podInfoOnMount": true },
  },
  {
    resource: "storage.k8s.io/v1/csistoragecapacities",
    object: { storageClassName: "s", nodeTopology: { matchLabels } },
    changes: { storageClassName: ["t"], nodeTopology: [more] },
    mutable: { capacity: "1Gi" },
  },
  {
    resource: "storage.k8s.io/v1/storageclasses",
    isClusterScoped: true,
    object: { provisioner: "p", parameters: { a: "b" } },
    changes: {
      provisioner: ["q"],
      parameters: [{ a: "c" }],
      reclaimPolicy: ["Retain"],
      volumeBindingMode: ["WaitForFirstConsumer"],
    },
    mutable: { allowVolumeExpansion: true },
  },
];

/** A merge patch of the dotted path. */
const patchOf = (path: string, value: unknown): unknown =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);

async function refusedFields(write: Promise<unknown>): Promise<readonly (string | undefined)[]> {
  try {
    await write;
    return [];
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    assert.equal(error.status.code, 422);
    return (error.status.details?.causes ?? []).map(({ field }) => field);
  }
}

describe("immutable fields", () => {
  let test: TestRegistry;
  before(async () => {
    test = await testRegistry();
    await test.post("v1/namespaces", { metadata: { name: "n" } });
  });
  for (const { resource, isClusterScoped, object, changes, mutable } of rows) {
    const collection = `${resource}/${isClusterScoped ? "" : "n"}`;
    const address = `${collection}/x`;
    describe(resource, () => {
      before(async () => {
        await test.post(collection, { ...object, metadata: { name: "x" } });
      });
      for (const [path, [value, cause = path]] of Object.entries(changes)) {
        it(`${path} stays`, async () => {
          const fields = await refusedFields(test.patch(address, patchOf(path, value)));
          assert.ok(fields.includes(cause), `${cause} is among ${JSON.stringify(fields)}`);
        });
      }
      for (const [path, value] of Object.entries(mutable)) {
        it(`${path} may change`, async () => {
          assert.deepEqual(await refusedFields(test.patch(address, patchOf(path, value))), []);
        });
      }
    });
  }
});
