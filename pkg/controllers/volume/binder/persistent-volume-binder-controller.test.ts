/** Binding of claims to volumes, and reclaiming of released volumes. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { eventsOf, passInSteps } from "../../node/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { runPersistentVolumeBinder } from "./persistent-volume-binder-controller.ts";

const claims = "v1/persistentvolumeclaims/ns";
const volumes = "v1/persistentvolumes/";
const options = { volumeSyncMs: 15_000 };
const bindCompleted = "pv.kubernetes.io/bind-completed";
const byController = "pv.kubernetes.io/bound-by-controller";
const provisioner = "volume.kubernetes.io/storage-provisioner";

const makeVolume = (test: TestRegistry, name: string, storage: string, spec: object = {}) =>
  test.post(volumes, {
    metadata: { name, labels: { name } },
    spec: {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "manual",
      hostPath: { path: "/data" },
      persistentVolumeReclaimPolicy: "Retain",
      ...spec,
    },
  });

const makeClaim = (test: TestRegistry, name: string, storage: string, spec: object = {}) =>
  test.post(claims, {
    metadata: { name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage } },
      storageClassName: "manual",
      ...spec,
    },
  });

const makeClass = (test: TestRegistry, name: string, more: object = {}, annotations = {}) =>
  test.post("storage.k8s.io/v1/storageclasses/", {
    metadata: { name, annotations },
    provisioner: "example.com/csi",
    volumeBindingMode: "Immediate",
    ...more,
  });

const claimOf = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`${claims}/${name}`)).object;
const volumeOf = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`${volumes}/${name}`)).object;

describe("persistentvolume-binder-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["ns", "default"] });
    run = await startController((context) => runPersistentVolumeBinder(context, options), {
      test,
      clock: test.clock,
    });
  });
  afterEach(() => run.stop());

  const pass = (ms = 500) => passInSteps(test, ms);

  it("binds the smallest volume with the fewest access modes that suffice", async () => {
    await makeVolume(test, "small", "1Gi");
    await makeVolume(test, "large", "10Gi");
    await makeVolume(test, "many", "5Gi", { accessModes: ["ReadOnlyMany", "ReadWriteOnce"] });
    await pass();
    await makeClaim(test, "c", "3Gi");
    await pass();
    const claim = await claimOf(test, "c");
    assert.equal(claim.spec.volumeName, "large");
    assert.deepEqual(claim.status, {
      phase: "Bound",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "10Gi" },
    });
    assert.deepEqual(claim.metadata.annotations, { [bindCompleted]: "yes", [byController]: "yes" });
    const volume = await volumeOf(test, "large");
    assert.equal(volume.status.phase, "Bound");
    assert.equal(volume.spec.claimRef.uid, claim.metadata.uid);
    assert.deepEqual(volume.metadata.annotations, { [byController]: "yes" });
    assert.equal((await volumeOf(test, "small")).status.phase, "Available");
  });

  it("matches selector, class and volume mode, and retries later", async () => {
    await makeVolume(test, "a", "1Gi");
    await makeVolume(test, "b", "1Gi", { volumeMode: "Block" });
    await makeClaim(test, "selecting", "1Gi", { selector: { matchLabels: { name: "z" } } });
    await makeClaim(test, "classless", "1Gi", { storageClassName: "" });
    await makeClaim(test, "block", "1Gi", { volumeMode: "Block" });
    await pass(16_000);
    assert.equal((await claimOf(test, "block")).spec.volumeName, "b");
    for (const name of ["selecting", "classless"]) {
      assert.equal((await claimOf(test, name)).status.phase, "Pending");
    }
    assert.deepEqual(await eventsOf(test, "ns", "classless"), [
      "Normal FailedBinding: no persistent volumes available for this claim and no storage class is set",
    ]);
    await makeVolume(test, "z", "1Gi");
    await pass(16_000);
    assert.equal((await claimOf(test, "selecting")).spec.volumeName, "z");
  });

  it("binds a volume that was reserved for the claim, and one that the claim names", async () => {
    await makeVolume(test, "reserved", "9Gi", { claimRef: { namespace: "ns", name: "r" } });
    await makeVolume(test, "named", "9Gi");
    await makeVolume(test, "other", "1Gi", { storageClassName: "other" });
    await pass();
    await makeClaim(test, "r", "1Gi");
    await makeClaim(test, "n", "1Gi", { volumeName: "named" });
    await makeClaim(test, "wrong", "1Gi", { volumeName: "other" });
    await makeClaim(test, "late", "1Gi", { volumeName: "named" });
    await pass();
    assert.equal((await claimOf(test, "r")).spec.volumeName, "reserved");
    assert.equal((await volumeOf(test, "reserved")).metadata.annotations, undefined);
    const named = await claimOf(test, "n");
    assert.deepEqual(named.metadata.annotations, { [bindCompleted]: "yes" });
    assert.deepEqual(await eventsOf(test, "ns", "wrong"), [
      'Warning VolumeMismatch: Cannot bind to requested volume "other": storageClassName does not match',
    ]);
    assert.deepEqual(await eventsOf(test, "ns", "late"), [
      'Warning FailedBinding: volume "named" already bound to a different claim.',
    ]);
  });

  it("requests a volume from an external provisioner, and binds it", async () => {
    await makeClass(test, "fast");
    await makeClaim(test, "c", "1Gi", { storageClassName: "fast" });
    await pass();
    const { metadata } = await claimOf(test, "c");
    assert.equal(metadata.annotations[provisioner], "example.com/csi");
    const [event = ""] = await eventsOf(test, "ns", "c");
    assert.match(
      event,
      /^Normal ExternalProvisioning: Waiting for .* 'example.com\/csi' or manual/,
    );
    await makeVolume(test, "made", "1Gi", {
      storageClassName: "fast",
      claimRef: { namespace: "ns", name: "c", uid: metadata.uid },
    });
    await pass();
    assert.equal((await claimOf(test, "c")).status.phase, "Bound");
    assert.equal((await volumeOf(test, "made")).status.phase, "Bound");
  });

  it("waits for the first consumer until the scheduler has chosen a node", async () => {
    await makeClass(test, "late", { volumeBindingMode: "WaitForFirstConsumer" });
    await makeVolume(test, "free", "1Gi", { storageClassName: "late" });
    await makeClaim(test, "c", "1Gi", { storageClassName: "late" });
    await pass(1_000);
    const waiting = "waiting for first consumer to be created before binding";
    assert.deepEqual(await eventsOf(test, "ns", "c"), [`Normal WaitForFirstConsumer: ${waiting}`]);
    const volume = { name: "v", persistentVolumeClaim: { claimName: "c" } };
    await test.post("v1/pods/ns", {
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "i" }], volumes: [volume] },
    });
    await pass(16_000);
    assert.ok(
      (await eventsOf(test, "ns", "c")).includes(
        "Normal WaitForPodScheduled: waiting for pod p to be scheduled",
      ),
    );
    const annotations = { "volume.kubernetes.io/selected-node": "a" };
    await test.patch(`${claims}/c`, { metadata: { annotations } });
    await pass();
    const { metadata, status } = await claimOf(test, "c");
    assert.equal(metadata.annotations[provisioner], "example.com/csi");
    assert.equal(status.phase, "Pending");
  });

  it("sets the newest default class on a claim without class", async () => {
    const isDefault = { "storageclass.kubernetes.io/is-default-class": "true" };
    await makeClass(test, "old", {}, isDefault);
    test.clock.advance(5_000);
    await makeClass(test, "new", {}, isDefault);
    await pass();
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await test.post(claims, { metadata: { name: "c" }, spec });
    await pass();
    const claim = await claimOf(test, "c");
    assert.equal(claim.spec.storageClassName, "new");
    assert.equal(claim.metadata.annotations[provisioner], "example.com/csi");
  });

  it("reclaims a volume of a deleted claim by its reclaim policy", async () => {
    const policies = {
      retained: "Retain",
      recycled: "Recycle",
      deleted: "Delete",
      stuck: "Delete",
    };
    for (const [name, persistentVolumeReclaimPolicy] of Object.entries(policies)) {
      // HostPath volumes are deleted only below one directory.
      const path = name === "deleted" ? ["", "tmp", name].join("/") : "/data";
      await makeVolume(test, name, "1Gi", { persistentVolumeReclaimPolicy, hostPath: { path } });
      await makeClaim(test, name, "1Gi", { volumeName: name });
    }
    await pass(16_000);
    for (const name of Object.keys(policies)) {
      assert.equal((await claimOf(test, name)).status.phase, "Bound");
      await test.remove(`${claims}/${name}`);
    }
    await pass();
    assert.deepEqual(await test.names(volumes), ["recycled", "retained", "stuck"]);
    assert.equal((await volumeOf(test, "retained")).status.phase, "Released");
    assert.deepEqual((await volumeOf(test, "stuck")).status.phase, "Failed");
    assert.deepEqual(await eventsOf(test, "default", "stuck"), [
      "Warning VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data",
    ]);
    assert.deepEqual(await eventsOf(test, "default", "recycled"), [
      "Warning VolumeFailedRecycle: No recycler plugin found for the volume!",
    ]);
    // A released volume is free again once its reference is cleared.
    await test.patch(`${volumes}/retained`, { spec: { claimRef: null } });
    await pass();
    assert.equal((await volumeOf(test, "retained")).status.phase, "Available");
  });

  it("reports claims that lost their volume, or share it", async () => {
    await makeVolume(test, "v", "1Gi");
    await makeClaim(test, "c", "1Gi", { volumeName: "v" });
    const annotations = { [bindCompleted]: "yes" };
    await pass(16_000);
    await test.post(claims, {
      metadata: { name: "second", annotations },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        storageClassName: "manual",
        volumeName: "v",
      },
    });
    await pass();
    assert.deepEqual(await eventsOf(test, "ns", "second"), [
      "Warning ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly",
    ]);
    await test.remove(`${volumes}/v`);
    await pass();
    assert.deepEqual((await claimOf(test, "c")).status, { phase: "Lost" });
    assert.deepEqual(await eventsOf(test, "ns", "c"), [
      "Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!",
    ]);
  });

  it("reaches the same state after a crash at any write", async () => {
    const crashes = await crashAfterEveryWrite({
      controllers: [(context) => runPersistentVolumeBinder(context, options)],
      namespaces: ["ns", "default"],
      play: async ({ test, until }) => {
        const bound = (name: string) => async () => {
          const { status } = await claimOf(test, name);
          return status.phase === "Bound";
        };
        await makeVolume(test, "a", "1Gi");
        await makeVolume(test, "b", "2Gi");
        await makeClaim(test, "one", "1Gi");
        await makeClaim(test, "two", "1Gi");
        await until(bound("one"));
        await until(bound("two"));
        const { volumeName } = (await claimOf(test, "one")).spec;
        await test.remove(`${claims}/one`);
        await until(async () => (await volumeOf(test, volumeName)).status.phase === "Released");
      },
      endState: async (test) => {
        const both = await Promise.all(["a", "b"].map((name) => volumeOf(test, name)));
        const { metadata, spec, status } = await claimOf(test, "two");
        return {
          phases: both.map(({ status: { phase } }) => phase).sort(),
          refs: both.map(({ spec: { claimRef } }) => claimRef?.name).sort(),
          claim: [Object.keys(metadata.annotations).sort(), spec.volumeName !== "", status.phase],
        };
      },
    });
    assert.ok(crashes >= 9);
  });
});
