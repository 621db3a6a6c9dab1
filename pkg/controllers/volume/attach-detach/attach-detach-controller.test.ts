/** VolumeAttachments of the volumes that pods use on nodes. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { eventsOf, makeNode, passInSteps } from "../../node/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { runAttachDetachController } from "./attach-detach-controller.ts";

const options = { disableForceDetach: false };
const attachments = "storage.k8s.io/v1/volumeattachments/";
const claims = "v1/persistentvolumeclaims/ns";
const volumes = "v1/persistentvolumes/";
const uniqueName = "kubernetes.io/csi/d.example.com^h-v";

/** A claim that is bound to a CSI volume. */
async function makeVolume(test: TestRegistry, name: string): Promise<void> {
  const common = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const resources = { requests: { storage: "1Gi" } };
  const claim = await test.post(claims, {
    metadata: { name },
    spec: { ...common, resources, volumeName: name },
  });
  const claimRef = { namespace: "ns", name, uid: claim.item.object.metadata.uid };
  const csi = { driver: "d.example.com", volumeHandle: `h-${name}` };
  const spec = { ...common, capacity: { storage: "1Gi" }, csi, claimRef };
  await test.post(volumes, { metadata: { name }, spec });
  await test.patch(`${claims}/${name}/status`, { status: { phase: "Bound" } });
}

async function makeManagedNode(test: TestRegistry, name: string): Promise<void> {
  await makeNode(test, name);
  const annotations = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
  await test.patch(`v1/nodes//${name}`, { metadata: { annotations } });
}

const makePod = (test: TestRegistry, name: string, nodeName: string, claimName: string) =>
  test.post("v1/pods/ns", {
    metadata: { name },
    spec: {
      nodeName,
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "d", persistentVolumeClaim: { claimName } }],
    },
  });

const setAttached = async (test: TestRegistry) => {
  for (const name of await test.names(attachments)) {
    await test.patch(`${attachments}/${name}/status`, { status: { attached: true } });
  }
};
const removePod = (test: TestRegistry, name: string) =>
  test.remove(`v1/pods/ns/${name}`, { gracePeriodSeconds: 0 });
const attachedTo = async (test: TestRegistry, node: string): Promise<string[]> => {
  const { status } = (await test.get(`v1/nodes//${node}`)).object as any;
  return (status.volumesAttached ?? []).map(({ name }: any) => name);
};

describe("attach-detach-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController((context) => runAttachDetachController(context, options), {
      test,
      clock: test.clock,
    });
    await makeManagedNode(test, "a");
    await makeVolume(test, "v");
  });
  afterEach(() => run.stop());
  const pass = (ms = 3_000) => passInSteps(test, ms);

  it("attaches the volume of a pod, and lists it in the status of the node", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    const digest = createHash("sha256").update("h-vd.example.coma").digest("hex");
    assert.deepEqual(await test.names(attachments), [`csi-${digest}`]);
    const { spec } = (await test.get(`${attachments}/csi-${digest}`)).object as any;
    assert.deepEqual(spec, {
      attacher: "d.example.com",
      nodeName: "a",
      source: { persistentVolumeName: "v" },
    });
    assert.deepEqual(await attachedTo(test, "a"), []);
    await setAttached(test);
    await pass();
    assert.deepEqual(await attachedTo(test, "a"), [uniqueName]);
    assert.deepEqual(await eventsOf(test, "ns", "p"), [
      'Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "v" ',
    ]);
  });

  it("records an Event on pods for a failed attach, once per reason", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    const [name] = await test.names(attachments);
    const attachError = { message: "rpc error: code = Internal desc = no" };
    await test.patch(`${attachments}/${name}/status`, { status: { attachError } });
    await pass();
    await test.patch(`${attachments}/${name}/status`, {
      status: { attachError: { ...attachError, time: "2030-01-01T00:00:00Z" } },
    });
    await pass();
    assert.deepEqual(await eventsOf(test, "ns", "p"), [
      `Warning FailedAttachVolume: AttachVolume.Attach failed for volume "v" : ${attachError.message}`,
    ]);
  });

  it("ignores VolumeAttachments of other clients", async () => {
    const source = { persistentVolumeName: "v" };
    const spec = { attacher: "other.example.com", nodeName: "a", source };
    await test.post(attachments, { metadata: { name: "foreign" }, spec });
    await pass();
    assert.deepEqual(await test.names(attachments), ["foreign"]);
  });

  it("detaches when no pod uses the volume and the node has unmounted it", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    await setAttached(test);
    await test.patch("v1/nodes//a/status", { status: { volumesInUse: [uniqueName] } });
    await removePod(test, "p");
    await pass();
    assert.equal((await test.names(attachments)).length, 1);
    await test.patch("v1/nodes//a/status", { status: { volumesInUse: null } });
    await pass();
    assert.deepEqual(await test.names(attachments), []);
    assert.deepEqual(await attachedTo(test, "a"), []);
  });

  it("detaches by force from an unhealthy node after six minutes", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    await setAttached(test);
    const conditions = [{ type: "Ready", status: "Unknown" }];
    const status = { conditions, volumesInUse: [uniqueName] };
    await test.patch("v1/nodes//a/status", { status });
    await removePod(test, "p");
    await passInSteps(test, 350_000, 10_000);
    assert.equal((await test.names(attachments)).length, 1);
    await passInSteps(test, 20_000, 5_000);
    assert.deepEqual(await test.names(attachments), []);
  });

  it("detaches immediately from an out-of-service node", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    await setAttached(test);
    await test.patch("v1/nodes//a/status", { status: { volumesInUse: [uniqueName] } });
    await removePod(test, "p");
    const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
    await test.patch("v1/nodes//a", { spec: { taints } });
    await pass();
    assert.deepEqual(await test.names(attachments), []);
  });

  it("detaches unused volumes from a deleted node immediately", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    await setAttached(test);
    await test.remove("v1/nodes//a");
    await pass();
    assert.equal((await test.names(attachments)).length, 1, "the pod is still there");
    await removePod(test, "p");
    await pass();
    assert.deepEqual(await test.names(attachments), []);
  });

  it("detaches used volumes from a deleted node after six minutes, even after a restart", async () => {
    await makePod(test, "p", "a", "v");
    await pass();
    await setAttached(test);
    await test.patch("v1/nodes//a/status", { status: { volumesInUse: [uniqueName] } });
    await pass();
    await test.remove("v1/nodes//a");
    await removePod(test, "p");
    await passInSteps(test, 300_000, 10_000);
    assert.equal((await test.names(attachments)).length, 1);
    await run.stop();
    run = await startController((context) => runAttachDetachController(context, options), {
      test,
      clock: test.clock,
    });
    await passInSteps(test, 350_000, 10_000);
    assert.equal((await test.names(attachments)).length, 1);
    await passInSteps(test, 20_000, 5_000);
    assert.deepEqual(await test.names(attachments), []);
  });

  it("attaches a ReadWriteOnce volume to one node at a time", async () => {
    await makeManagedNode(test, "b");
    await makePod(test, "p", "a", "v");
    await pass();
    await makePod(test, "q", "b", "v");
    await pass();
    assert.equal((await test.names(attachments)).length, 1);
    assert.deepEqual(await eventsOf(test, "ns", "q"), [
      'Warning FailedAttachVolume: Multi-Attach error for volume "v" Volume is already used by ' +
        "pod(s) p",
    ]);
    await removePod(test, "p");
    await pass(6_000);
    const [name = ""] = await test.names(attachments);
    assert.equal(((await test.get(`${attachments}/${name}`)).object as any).spec.nodeName, "b");
  });

  it("reports a ReadWriteOnce volume that no known pod uses as attached exclusively", async () => {
    await makeManagedNode(test, "b");
    await makePod(test, "p", "a", "v");
    await pass();
    await setAttached(test);
    await test.patch("v1/nodes//a/status", { status: { volumesInUse: [uniqueName] } });
    await pass();
    await removePod(test, "p");
    await makePod(test, "q", "b", "v");
    await pass();
    assert.deepEqual(await eventsOf(test, "ns", "q"), [
      'Warning FailedAttachVolume: Multi-Attach error for volume "v" Volume is already ' +
        "exclusively attached to one node and can't be attached to another",
    ]);
  });

  it("ignores drivers without attach, and nodes that attach themselves", async () => {
    await makeNode(test, "b");
    await makeVolume(test, "w");
    await makePod(test, "p", "b", "v");
    await test.post("storage.k8s.io/v1/csidrivers/", {
      metadata: { name: "d.example.com" },
      spec: { attachRequired: false },
    });
    await pass();
    await makePod(test, "q", "a", "w");
    await pass();
    assert.deepEqual(await test.names(attachments), []);
  });

  it("reaches the same state after a crash at any write", async () => {
    const crashes = await crashAfterEveryWrite({
      controllers: [(context) => runAttachDetachController(context, options)],
      play: async ({ test, until }) => {
        await makeManagedNode(test, "a");
        for (const name of ["v", "w"]) await makeVolume(test, name);
        await makePod(test, "p", "a", "v");
        await makePod(test, "q", "a", "w");
        await until(async () => (await test.names(attachments)).length === 2);
        await setAttached(test);
        await until(async () => (await attachedTo(test, "a")).length === 2);
        await removePod(test, "p");
        await until(async () => (await test.names(attachments)).length === 1);
      },
      endState: async (test) => [await test.names(attachments), await attachedTo(test, "a")],
    });
    assert.ok(crashes >= 4);
  });
});
