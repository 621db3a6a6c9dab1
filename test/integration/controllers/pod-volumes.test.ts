/** Scheduling of pods by their volumes, with the PersistentVolume binder. */
import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../../../pkg/controllers/testing.ts";
import * as pv from "../../../pkg/controllers/volume/binder/persistent-volume-binder-controller.ts";
import { type TestRegistry, testRegistry } from "../../../pkg/registry/testing.ts";
import { defaultSchedulerSettings, runScheduler } from "../../../pkg/scheduler/index.ts";

const podsPath = "v1/pods/ns";
const hostname = "kubernetes.io/hostname";
const zone = "topology.kubernetes.io/zone";

describe("volumes of pods", () => {
  let test: TestRegistry;
  let run: ControllerTest;

  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["ns"] });
    for (const name of ["a", "b"]) await makeNode(name, { [zone]: `zone-${name}` });
    await makeClass("late", "kubernetes.io/no-provisioner");
    await makeClass("csi", "example.com/csi");
    run = await startController(
      async (context) => {
        await Promise.all([
          runScheduler(context, defaultSchedulerSettings),
          pv.runPersistentVolumeBinder(context, { volumeSyncMs: 15_000 }),
        ]);
      },
      { test },
    );
  });
  afterEach(() => run.stop());

  const makeNode = (name: string, labels: object) => {
    const allocatable = { cpu: "4", memory: "8Gi", pods: "10" };
    const metadata = { name, labels: { [hostname]: name, ...labels } };
    return test.post("v1/nodes", { metadata, status: { allocatable } });
  };
  const makeClass = (name: string, provisioner: string) =>
    test.post("storage.k8s.io/v1/storageclasses/", {
      metadata: { name },
      provisioner,
      volumeBindingMode: "WaitForFirstConsumer",
    });
  const onNode = (name: string) => ({
    required: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: hostname, operator: "In", values: [name] }] },
      ],
    },
  });
  const makeVolume = (name: string, storage: string, more: any = {}) => {
    const { node, labels, ...spec } = more;
    return test.post("v1/persistentvolumes/", {
      metadata: { name, labels },
      spec: {
        capacity: { storage },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "late",
        persistentVolumeReclaimPolicy: "Retain",
        hostPath: { path: "/data" },
        ...(node === undefined ? {} : { nodeAffinity: onNode(node) }),
        ...spec,
      },
    });
  };
  const makeClaim = (name: string, storage: string, more: object = {}) =>
    test.post("v1/persistentvolumeclaims/ns", {
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage } },
        storageClassName: "late",
        ...more,
      },
    });
  const makePod = (name: string, claims: readonly string[], spec: object = {}) =>
    test.post(podsPath, {
      metadata: { name },
      spec: {
        containers: [{ name: "c", image: "i" }],
        schedulerName: "default-scheduler",
        volumes: claims.map((claimName) => ({
          name: claimName,
          persistentVolumeClaim: { claimName },
        })),
        ...spec,
      },
    });
  const objectOf = async (path: string): Promise<any> => (await test.get(path)).object;
  const nodeOf = async (name: string) => (await objectOf(`${podsPath}/${name}`)).spec.nodeName;
  const volumeOf = async (name: string) =>
    (await objectOf(`v1/persistentvolumeclaims/ns/${name}`)).spec.volumeName;
  const messageOf = async (name: string) =>
    (await objectOf(`${podsPath}/${name}`)).status.conditions?.find(
      ({ type }: any) => type === "PodScheduled",
    )?.message;
  const phaseOf = async (name: string) =>
    (await objectOf(`v1/persistentvolumes//${name}`)).status.phase;
  const available = (...names: readonly string[]) =>
    run.until(async () =>
      (await Promise.all(names.map(phaseOf))).every((each) => each === "Available"),
    );

  it("reserves the smallest volumes that the node can reach, smallest claim first", async () => {
    await makeVolume("big", "9Gi", { node: "b" });
    await makeVolume("small", "2Gi", { node: "b" });
    await makeVolume("far", "1Gi", { node: "a" });
    await available("big", "small", "far");
    await makeClaim("large", "3Gi");
    await makeClaim("little", "1Gi");
    await makePod("p", ["large", "little"]);
    await run.until(() => nodeOf("p"));
    assert.equal(await nodeOf("p"), "b");
    assert.deepEqual([await volumeOf("large"), await volumeOf("little")], ["big", "small"]);
    const { metadata, spec } = await objectOf("v1/persistentvolumes//big");
    assert.equal(metadata.annotations["pv.kubernetes.io/bound-by-controller"], "yes");
    assert.equal(spec.claimRef.name, "large");
  });

  it("reports that no volume is available, and binds once one is", async () => {
    await makeClaim("c", "1Gi");
    await makePod("p", ["c"]);
    await run.until(() => messageOf("p"));
    assert.match(
      await messageOf("p"),
      /^0\/2 nodes are available: 2 node\(s\) didn't find available persistent volumes to bind\. /,
    );
    await makeVolume("v", "1Gi", { node: "a" });
    await run.until(() => nodeOf("p"));
    assert.deepEqual([await nodeOf("p"), await volumeOf("c")], ["a", "v"]);
  });

  it("respects CSIStorageCapacity", async () => {
    await test.post("storage.k8s.io/v1/csidrivers/", {
      metadata: { name: "example.com/csi".replace("/", ".") },
      spec: { storageCapacity: true },
    });
    await makeClass("tracked", "example.com.csi");
    const capacity = (name: string, size: string) =>
      test.post("storage.k8s.io/v1/csistoragecapacities/ns", {
        metadata: { name },
        storageClassName: "tracked",
        nodeTopology: { matchLabels: { [hostname]: name } },
        capacity: size,
      });
    await capacity("a", "1Gi");
    await makeClaim("c", "5Gi", { storageClassName: "tracked" });
    await makePod("p", ["c"]);
    await run.until(() => messageOf("p"));
    assert.match(await messageOf("p"), /: 2 node\(s\) did not have enough free storage\. /);
    await capacity("b", "9Gi");
    const selected = async () =>
      (await objectOf("v1/persistentvolumeclaims/ns/c")).metadata.annotations?.[
        "volume.kubernetes.io/selected-node"
      ];
    await run.until(selected);
    assert.equal(await selected(), "b");
  });

  it("keeps pods in the zone of their volume and apart over exclusive claims", async () => {
    await makeVolume("v", "1Gi", {
      labels: { [zone]: "zone-b" },
      accessModes: ["ReadWriteOncePod"],
    });
    await makeClaim("c", "1Gi", { volumeName: "v", accessModes: ["ReadWriteOncePod"] });
    await makePod("p", ["c"]);
    await run.until(() => nodeOf("p"));
    assert.equal(await nodeOf("p"), "b");
    await makePod("q", ["c"]);
    await run.until(() => messageOf("q"));
    const reason =
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode " +
      "already in-use by another pod";
    const message: string = await messageOf("q");
    assert.ok(message.startsWith(`0/2 nodes are available: 2 ${reason}. `), message);
    await test.remove(`${podsPath}/p`, { gracePeriodSeconds: 0 });
    await run.until(() => nodeOf("q"));
  });

  it("counts volumes of CSI drivers against the limit of the node", async () => {
    for (const name of ["a", "b"]) {
      const drivers = [{ name: "d", nodeID: name, allocatable: { count: name === "a" ? 0 : 1 } }];
      await test.post("storage.k8s.io/v1/csinodes/", { metadata: { name }, spec: { drivers } });
    }
    for (const name of ["v", "w"]) {
      await makeVolume(name, "1Gi", {
        hostPath: undefined,
        csi: { driver: "d", volumeHandle: name },
      });
      await makeClaim(name, "1Gi", { volumeName: name });
    }
    const phases = () => Promise.all(["v", "w"].map(phaseOf));
    await run.until(async () => (await phases()).every((phase) => phase === "Bound"));
    await makePod("p", ["v"]);
    await run.until(() => nodeOf("p"));
    assert.equal(await nodeOf("p"), "b");
    await makePod("q", ["w"]);
    await run.until(() => messageOf("q"));
    assert.match(await messageOf("q"), /: 2 node\(s\) exceed max volume count\. /);
    await test.remove(`${podsPath}/p`, { gracePeriodSeconds: 0 });
    await run.until(() => nodeOf("q"));
  });
});
