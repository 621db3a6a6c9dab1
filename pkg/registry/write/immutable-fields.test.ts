/** Immutable fields: every write that changes one is rejected with 422 at that field. */
import assert from "node:assert/strict";
import { StatusError } from "#meta";
import { testRegistry, type TestRegistry } from "../testing.ts";

interface Row {
  /** Group, version and resource; namespaced objects are created in `n`. */
  readonly resource: string;
  readonly isClusterScoped?: boolean;
  /** Name of the object; default `x`. */
  readonly name?: string;
  readonly object: Readonly<Record<string, unknown>>;
  /** Changed field -> its new value, and the field of the cause if it is another. */
  readonly changes: Readonly<Record<string, readonly [value: unknown, cause?: string]>>;
  /** Fields of the same object that may change. */
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
const claimRequest = (name: string) => ({
  name,
  exactly: { deviceClassName: "gpu.example.com" },
});
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
      "spec.selector": [{ matchLabels: { other: "x" } }],
      "spec.template.metadata.annotations": [{ a: "b" }, "spec.template"],
      "spec.template.spec.activeDeadlineSeconds": [5, "spec.template"],
      "spec.template.spec.containers": [[{ name: "c", image: "other" }], "spec.template"],
    },
    mutable: { "spec.parallelism": 2, "spec.backoffLimit": 1 },
  },
  {
    resource: "batch/v1/jobs",
    name: "indexed",
    object: {
      spec: {
        template: once,
        completions: 2,
        parallelism: 2,
        completionMode: "Indexed",
        backoffLimitPerIndex: 1,
      },
    },
    changes: {
      "spec.backoffLimitPerIndex": [2],
      "spec.successPolicy": [{ rules: [{ succeededCount: 1 }] }],
      "spec.completions": [3],
    },
    mutable: { "spec.maxFailedIndexes": 1, "spec.suspend": true },
  },
  {
    resource: "batch/v1/jobs",
    name: "suspended",
    object: { spec: { template: once, suspend: true } },
    changes: { "spec.template.spec.activeDeadlineSeconds": [5, "spec.template"] },
    mutable: {
      "spec.template.metadata.annotations": { a: "b" },
      "spec.template.spec.nodeSelector": { a: "b" },
      "spec.template.spec.tolerations": [{ key: "a", operator: "Exists" }],
    },
  },
  {
    resource: "v1/pods",
    object: { spec: { ...template.spec, nodeName: "n", hostname: "h" } },
    changes: Object.fromEntries(
      Object.entries({
        nodeName: "other",
        hostname: "other",
        restartPolicy: "Never",
        serviceAccountName: "other",
        nodeSelector: { a: "b" },
        priority: 5,
        volumes: [{ name: "v", emptyDir: {} }],
        hostNetwork: true,
        terminationGracePeriodSeconds: 5,
        runtimeClassName: "other",
        schedulingGates: [{ name: "example.com/g" }],
      }).map(([field, value]) => [
        `spec.${field}`,
        [value, field === "schedulingGates" ? "spec.schedulingGates[0].name" : "spec"],
      ]),
    ),
    mutable: {
      "spec.activeDeadlineSeconds": 100,
      "spec.tolerations": [{ key: "a", operator: "Exists" }],
      "metadata.labels": { a: "b" },
    },
  },
  {
    resource: "v1/configmaps",
    object: { immutable: true, data: { a: "b" }, binaryData: { b: "YQ==" } },
    changes: {
      data: [{ a: "c" }],
      binaryData: [{ b: "Yg==" }],
      immutable: [false],
    },
    mutable: { "metadata.annotations": { a: "b" } },
  },
  {
    resource: "v1/secrets",
    name: "frozen",
    object: { immutable: true, data: { a: "YQ==" } },
    changes: { data: [{ a: "Yg==" }], immutable: [false] },
    mutable: { "metadata.annotations": { a: "b" } },
  },
  {
    resource: "v1/nodes",
    isClusterScoped: true,
    object: { spec: { podCIDRs: ["10.1.0.0/24"], providerID: "a://b" } },
    changes: {
      "spec.podCIDR": ["10.2.0.0/24", "spec.podCIDRs"],
      "spec.providerID": ["a://c"],
    },
    mutable: { "spec.unschedulable": true },
  },
  {
    resource: "v1/persistentvolumes",
    isClusterScoped: true,
    object: {
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        csi: { driver: "example.com", volumeHandle: "h" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] },
            ],
          },
        },
      },
    },
    changes: {
      "spec.csi.volumeHandle": ["other", "spec.persistentvolumesource"],
      "spec.volumeMode": ["Block", "volumeMode"],
      "spec.nodeAffinity": [
        {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "a", operator: "In", values: ["c"] }] },
            ],
          },
        },
        "nodeAffinity",
      ],
    },
    mutable: { "spec.persistentVolumeReclaimPolicy": "Delete", "spec.mountOptions": ["ro"] },
  },
  {
    resource: "networking.k8s.io/v1/ipaddresses",
    isClusterScoped: true,
    name: "192.0.2.9",
    object: { spec: { parentRef: { resource: "services", namespace: "n", name: "a" } } },
    changes: { "spec.parentRef.name": ["b", "spec.parentRef"] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "networking.k8s.io/v1/servicecidrs",
    isClusterScoped: true,
    object: { spec: { cidrs: ["10.96.0.0/24"] } },
    changes: { "spec.cidrs": [["10.97.0.0/24"], "spec.cidrs[0]"] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "storage.k8s.io/v1/volumeattachments",
    isClusterScoped: true,
    object: { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } } },
    changes: {
      "spec.attacher": ["b", "spec"],
      "spec.nodeName": ["m", "spec"],
      "spec.source.persistentVolumeName": ["q", "spec"],
    },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "storage.k8s.io/v1/volumeattributesclasses",
    isClusterScoped: true,
    object: { driverName: "d", parameters: { a: "b" } },
    changes: { driverName: ["e"], parameters: [{ a: "c" }] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "storage.k8s.io/v1/csinodes",
    isClusterScoped: true,
    object: { spec: { drivers: [{ name: "d", nodeID: "i", topologyKeys: ["z"] }] } },
    changes: {
      "spec.drivers": [[{ name: "d", nodeID: "j", topologyKeys: ["z"] }], "spec.drivers"],
    },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "resource.k8s.io/v1/resourceclaims",
    object: { spec: { devices: { requests: [claimRequest("a")] } } },
    changes: { "spec.devices.requests": [[claimRequest("b")], "spec"] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "resource.k8s.io/v1/resourceclaimtemplates",
    object: { spec: { spec: { devices: { requests: [claimRequest("a")] } } } },
    changes: { "spec.spec.devices.requests": [[claimRequest("b")], "spec"] },
    mutable: { "metadata.labels": { a: "b" } },
  },
  {
    resource: "resource.k8s.io/v1/resourceslices",
    isClusterScoped: true,
    object: {
      spec: {
        driver: "d.example.com",
        nodeName: "n",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
      },
    },
    changes: {
      "spec.driver": ["e.example.com"],
      "spec.nodeName": ["m"],
      "spec.pool.name": ["q"],
    },
    mutable: { "spec.pool.generation": 2 },
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
  for (const { resource, isClusterScoped, name = "x", object, changes, mutable } of rows) {
    const collection = `${resource}/${isClusterScoped ? "" : "n"}`;
    const address = `${collection}/${name}`;
    describe(`${resource} ${name}`, () => {
      before(async () => {
        await test.post(collection, { ...object, metadata: { name } });
      });
      for (const [path, [value, cause = path]] of Object.entries(changes)) {
        it(`rejects a change of ${path}`, async () => {
          const fields = await refusedFields(test.patch(address, patchOf(path, value)));
          assert.ok(fields.includes(cause), `${cause} is among ${JSON.stringify(fields)}`);
        });
      }
      for (const [path, value] of Object.entries(mutable)) {
        it(`accepts a change of ${path}`, async () => {
          assert.deepEqual(await refusedFields(test.patch(address, patchOf(path, value))), []);
        });
      }
    });
  }
});
