import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../../testing.ts";
import { pod } from "../pod/pod.ts";
import { persistentVolume } from "./persistent-volume.ts";
import { persistentVolumeClaim } from "./persistent-volume-claim.ts";

const accessModes = ["ReadWriteOnce"];

describe("PersistentVolume", () => {
  const capacity = { storage: "10Gi" };
  const make = (spec: Sketch) =>
    created(persistentVolume, { spec: { accessModes, capacity, ...spec } });
  const csi = { driver: "csi.example.com", volumeHandle: "h" };

  it("applies the defaults of each source", () => {
    const { object } = make({ iscsi: { targetPortal: "p", iqn: "iqn.2001-04.com.a:b", lun: 0 } });
    assert.equal(object.spec.iscsi.iscsiInterface, "default");
    assert.equal(object.spec.persistentVolumeReclaimPolicy, "Retain");
    assert.equal(object.spec.volumeMode, "Filesystem");
    assert.equal(object.status.phase, "Pending");
    assert.equal(make({ hostPath: { path: "/a" } }).object.spec.hostPath.type, "");
  });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{}, ["Required spec: must specify a volume type"]],
    [
      { hostPath: { path: "/a" }, csi },
      ["Forbidden spec.csi: may not specify more than 1 volume type"],
    ],
    [
      { capacity: { cpu: "1" }, csi },
      ['NotSupported spec.capacity = {"cpu":"1"}: supported values: "storage"'],
    ],
    [
      { local: { path: "/a/../b" } },
      [
        "Invalid spec.local.path = \"/a/../b\": must not contain '..'",
        "Required spec.nodeAffinity: Local volume requires node affinity",
      ],
    ],
    [
      { csi: { ...csi, nodePublishSecretRef: { namespace: "n" } } },
      ["Required spec.csi.nodePublishSecretRef.name"],
    ],
    [
      { hostPath: { path: "/" }, persistentVolumeReclaimPolicy: "Recycle" },
      [
        "Forbidden spec.persistentVolumeReclaimPolicy: may not be 'recycle' for a hostPath mount " +
          "of '/'",
      ],
    ],
    [
      { hostPath: { path: "/a" }, volumeAttributesClassName: "gold" },
      ["Required spec.csi: has to be specified when using volumeAttributesClassName"],
    ],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(make(spec).complaints, expected));
  }
  it("rejects changes of its source, except an added secret", () => {
    const write = (source: Sketch) => {
      const spec = { accessModes, capacity, csi: source };
      return updated(persistentVolume, make({ csi }), { spec }).complaints;
    };
    const secret = { name: "s", namespace: "n" };
    assert.deepEqual(write({ ...csi, controllerExpandSecretRef: secret }), []);
    assert.deepEqual(write({ ...csi, nodeExpandSecretRef: secret }), [
      "Forbidden spec.persistentvolumesource: spec.persistentvolumesource is immutable after " +
        "creation\n@@ -30,6 +30,9 @@\n" +
        '   "NodeStageSecretRef": null,\n   "NodePublishSecretRef": null,\n' +
        '   "ControllerExpandSecretRef": null,\n-  "NodeExpandSecretRef": null\n' +
        '+  "NodeExpandSecretRef": {\n+   "Name": "s",\n+   "Namespace": "n"\n+  }\n  }\n }\n',
    ]);
  });
  it("treats zero values of the source as absent on update", () => {
    const rbd = { monitors: ["m"], image: "i", readOnly: false };
    const spec = { accessModes, capacity, rbd };
    assert.deepEqual(updated(persistentVolume, make({ rbd }), { spec }).complaints, []);
  });
  it("prints the internal value of an immutable affinity", () => {
    const affinity = (key: string) => {
      const matchExpressions = [{ key, operator: "In", values: ["b"] }];
      return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    };
    const old = make({ csi, nodeAffinity: affinity("a") });
    const spec = { accessModes, capacity, csi, nodeAffinity: affinity("k") };
    assert.deepEqual(updated(persistentVolume, old, { spec }).complaints, [
      'Invalid nodeAffinity = {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"k",' +
        '"Operator":"In","Values":["b"]}],"MatchFields":null}]}}: field is immutable, except for ' +
        "updating from beta label to GA",
    ]);
  });
  it("requires the name of an iSCSI secret, unlike volumes of pods", () => {
    const source = { targetPortal: "p", iqn: "iqn.2001-04.com.a:b", lun: 0, secretRef: {} };
    assert.deepEqual(make({ iscsi: source }).complaints, ["Required spec.iscsi.secretRef.name"]);
    const containers = [{ name: "c", image: "i" }];
    const spec = { containers, volumes: [{ name: "v", iscsi: source }] };
    assert.deepEqual(created(pod, { metadata: { name: "p" }, spec }).complaints, []);
  });
  it("sets lastPhaseTransitionTime", () => {
    const old = make({ csi });
    old.object.status.lastPhaseTransitionTime = "2020-01-01T00:00:00Z";
    const write = { subresource: "status" };
    const after = (phase: string) =>
      updated(persistentVolume, old, { status: { phase } }, write).object.status;
    assert.equal(after("Pending").lastPhaseTransitionTime, "2020-01-01T00:00:00Z");
    assert.equal(after("Bound").lastPhaseTransitionTime, "1970-01-01T00:00:00Z");
  });
  it("warns of removed sources", () => {
    const { object } = make({ rbd: { monitors: ["m"], image: "i" } });
    const context = { subresource: "" } as any;
    assert.deepEqual(persistentVolume.hooks.warnings?.(object, undefined, context), [
      "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
    ]);
  });
});

describe("PersistentVolumeClaim", () => {
  const resources = { requests: { storage: "1Gi" } };
  const make = (spec: Sketch) =>
    created(persistentVolumeClaim, { spec: { accessModes, resources, ...spec } });
  const claim = { kind: "PersistentVolumeClaim", name: "a" };

  it("synchronizes dataSource and dataSourceRef", () => {
    const sources = (spec: Sketch) => {
      const { dataSource, dataSourceRef } = make(spec).object.spec;
      return [dataSource?.name, dataSourceRef?.name];
    };
    assert.deepEqual(sources({ dataSource: claim }), ["a", "a"]);
    assert.deepEqual(sources({ dataSourceRef: claim }), ["a", "a"]);
    const thing = { apiGroup: "example.com", kind: "Thing", name: "t" };
    assert.deepEqual(sources({ dataSource: thing }), [undefined, undefined]);
    assert.deepEqual(sources({ dataSourceRef: { ...claim, namespace: "n" } }), [
      undefined,
      undefined,
    ]);
  });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{ accessModes: [] }, ["Required spec.accessModes: at least 1 access mode is required"]],
    [
      { accessModes: ["ReadWriteOncePod", "ReadOnlyMany"] },
      ["Forbidden spec.accessModes: may not use ReadWriteOncePod with other access modes"],
    ],
    [{ resources: {} }, ["Required spec.resources[storage]"]],
    [
      { dataSource: claim, dataSourceRef: { ...claim, name: "b" } },
      ["Invalid spec = {}: must match dataSourceRef"],
    ],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(make(spec).complaints, expected));
  }
  it("is immutable, except the volume, an absent class, and growth once bound", () => {
    const old = make({});
    const write = (spec: Sketch) =>
      updated(persistentVolumeClaim, old, { spec: { accessModes, resources, ...spec } }).complaints;
    const fixed =
      "Forbidden spec: spec is immutable after creation except resources.requests and " +
      "volumeAttributesClassName for bound claims\n";
    assert.deepEqual(write({ volumeName: "v", storageClassName: "c" }), []);
    assert.deepEqual(write({ accessModes: ["ReadOnlyMany"], volumeName: "v" }), [
      `${fixed}@@ -1,6 +1,6 @@\n {\n  "AccessModes": [\n-  "ReadWriteOnce"\n+  "ReadOnlyMany"\n` +
        '  ],\n  "Selector": null,\n  "Resources": {\n',
    ]);
    const larger = { resources: { requests: { storage: "2Gi" } } };
    assert.deepEqual(write(larger), [
      `${fixed}@@ -6,7 +6,7 @@\n  "Resources": {\n   "Limits": null,\n   "Requests": {\n` +
        '-   "storage": "1Gi"\n+   "storage": "2Gi"\n   }\n  },\n  "VolumeName": "",\n',
    ]);
    old.object.status = { phase: "Bound", capacity: { storage: "1Gi" } };
    assert.deepEqual(write(larger), []);
    assert.deepEqual(write({ resources: { requests: { storage: "512Mi" } } }), [
      "Forbidden spec.resources.requests.storage: field can not be less than status.capacity",
    ]);
  });
  it("prints the bound volume", () => {
    const { object } = make({ volumeName: "v", storageClassName: "c" });
    object.status = { phase: "Bound", capacity: { storage: "1Gi" }, accessModes };
    const row = persistentVolumeClaim.row(object, { now: 0 });
    assert.deepEqual(row.slice(1, 7), ["Bound", "v", "1Gi", "RWO", "c", "<unset>"]);
  });
});
