import assert from "node:assert/strict";
import type { ControllerContext } from "../../controller-context.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { listAt, livePods, makePodsReady, podTemplate, setPodStatus } from "../../pods/testing.ts";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { runReplicaSetController, runReplicationController } from "./replica-set-controller.ts";

const labels = { app: "web" };
const sets = "apps/v1/replicasets/ns";
const runSets = (context: ControllerContext) =>
  runReplicaSetController(context, { replicaSetWorkers: 5 });
const runControllers = (context: ControllerContext) =>
  runReplicationController(context, { replicationControllerWorkers: 5 });

let test: TestRegistry;
let run: ControllerTest;

async function makeSet(name: string, replicas: number, spec: object = {}): Promise<any> {
  const selector = { matchLabels: labels };
  const template = podTemplate(labels);
  const body = { metadata: { name }, spec: { replicas, selector, template, ...spec } };
  return (await test.post(sets, body)).item.object;
}

const statusOf = async (name: string) => (await test.get(`${sets}/${name}`)).object.status;

/** `replicas labeled ready available` of a status; condition reasons follow. */
async function comesTo(name: string, wanted: string): Promise<void> {
  let found = "";
  await run
    .until(async () => {
      const { metadata, status } = (await test.get(`${sets}/${name}`)).object;
      const { fullyLabeledReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
      const reasons = (status.conditions ?? []).map(({ reason }: any) => reason);
      const counts = [status.replicas, fullyLabeledReplicas, readyReplicas, availableReplicas];
      found = [...counts, ...reasons].join(" ");
      return found === wanted && status.observedGeneration === metadata.generation;
    })
    .catch((error: unknown) => {
      assert.equal(found, wanted, String(error));
    });
}

const makePod = (name: string, more: object = {}) =>
  test.post("v1/pods/ns", { ...podTemplate(labels), metadata: { name, labels, ...more } });

const isControlled = (pod: any, owner: any) =>
  pod.metadata.ownerReferences?.some(
    ({ uid, controller }: any) => controller && uid === owner.metadata.uid,
  ) ?? false;

const eventsOf = async (reason: string) =>
  (await listAt(test, "v1/events/ns")).filter((event) => event.reason === reason);

describe("replicaset-controller", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runSets, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  it("creates pods from the template, and records Events", async () => {
    const set = await makeSet("web", 3);
    await comesTo("web", "3 3 0 0");
    for (const pod of await livePods(test)) {
      assert.match(pod.metadata.name, /^web-[a-z0-9]{5}$/);
      assert.equal(pod.metadata.generateName, "web-");
      assert.deepEqual(pod.metadata.labels, labels);
      assert.deepEqual(pod.metadata.ownerReferences, [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web",
          uid: set.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    }
    await run.until(async () => (await eventsOf("SuccessfulCreate")).length === 3);
    const [event] = await eventsOf("SuccessfulCreate");
    assert.match(event.message, /^Created pod: web-/);
    assert.equal(event.source.component, "replicaset-controller");
    assert.equal(event.involvedObject.kind, "ReplicaSet");
  });

  it("counts ready and available pods, and observes generations", async () => {
    await makeSet("web", 2, { minReadySeconds: 30 });
    await comesTo("web", "2 2 0 0");
    await makePodsReady(test);
    await comesTo("web", "2 2 2 0");
    test.clock.advance(29_000);
    await comesTo("web", "2 2 2 0");
    test.clock.advance(1_000);
    await comesTo("web", "2 2 2 2");
    await test.patch(`${sets}/web`, { spec: { minReadySeconds: 0 } });
    await run.until(async () => Number((await statusOf("web")).observedGeneration) === 2);
  });

  it("replaces pods that terminate, are deleted or lose their labels", async () => {
    await makeSet("web", 3);
    await comesTo("web", "3 3 0 0");
    const [first, second, third] = (await livePods(test)).map(({ metadata }) => metadata.name);
    await setPodStatus(test, first, { ready: false, phase: "Failed" });
    await test.remove(`v1/pods/ns/${second}`, { gracePeriodSeconds: 0 });
    await test.patch(`v1/pods/ns/${third}`, { metadata: { labels: { app: "other" } } });
    await run.until(async () => (await livePods(test)).length === 5);
    await comesTo("web", "3 3 0 0");
    const released = (await test.get(`v1/pods/ns/${third}`)).object;
    assert.equal(released.metadata.ownerReferences, undefined);
  });

  it("deletes surplus pods in Kubernetes' order", async () => {
    const set = await makeSet("web", 4);
    await comesTo("web", "4 4 0 0");
    const [ready, cheap, bound] = (await livePods(test)).map(({ metadata }) => metadata.name);
    for (const name of [ready, cheap, bound]) {
      const target = { apiVersion: "v1", kind: "Node", name: `node-${name}` };
      await test.post(`v1/pods/ns/${name}/binding`, { metadata: { name }, target });
    }
    const annotations = { "controller.kubernetes.io/pod-deletion-cost": "-1" };
    await test.patch(`v1/pods/ns/${cheap}`, { metadata: { annotations } });
    await setPodStatus(test, ready);
    await setPodStatus(test, cheap);
    // The cache has all of it once it has the last change.
    await comesTo("web", "4 4 2 2");
    for (const [replicas, left] of [
      [3, [ready, cheap, bound]],
      [2, [ready, cheap]],
      [1, [ready]],
    ] as const) {
      await test.patch(`${sets}/web`, { spec: { replicas } });
      await run.until(async () => (await livePods(test)).length === replicas);
      const names = (await livePods(test)).map(({ metadata }) => metadata.name);
      assert.deepEqual(names.sort(), [...left].sort());
    }
    assert.ok(isControlled((await livePods(test))[0], set));
    await run.until(async () => (await eventsOf("SuccessfulDelete")).length === 3);
  });

  it("adopts matching orphans, and no pods of other controllers", async () => {
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "u", controller: true };
    await makePod("orphan");
    await makePod("foreign", { ownerReferences: [other] });
    const set = await makeSet("web", 1);
    await comesTo("web", "1 1 0 0");
    assert.ok(isControlled((await test.get("v1/pods/ns/orphan")).object, set));
    assert.equal((await livePods(test)).length, 2);
    await makePod("later");
    await run.until(async () => (await livePods(test)).length === 2);
    await comesTo("web", "1 1 0 0");
  });

  it("adopts nothing for a terminating ReplicaSet, although its informer is stale", async () => {
    await makeSet("web", 0);
    await comesTo("web", "0 0 0 0");
    run.holdInformer("replicasets");
    await test.remove(`${sets}/web`, { propagationPolicy: "Foreground" });
    await makePod("orphan");
    await run.until(async () => run.calls("get", "replicasets") > 0);
    assert.equal((await test.get("v1/pods/ns/orphan")).object.metadata.ownerReferences, undefined);
    assert.equal(run.calls("patch", "pods"), 0);
  });

  it("creates no pod twice while its pod informer is stale", async () => {
    await makeSet("web", 0);
    await comesTo("web", "0 0 0 0");
    run.holdInformer("pods");
    await test.patch(`${sets}/web`, { spec: { replicas: 3 } });
    await run.until(async () => (await livePods(test)).length === 3);
    for (const round of ["1", "2", "3"]) {
      await test.patch(`${sets}/web`, { metadata: { annotations: { round } } });
    }
    await makeSet("probe", 0);
    await comesTo("probe", "0 0 0 0");
    assert.equal((await livePods(test)).length, 3);
    run.releaseInformer("pods");
    await comesTo("web", "3 3 0 0");
    assert.equal(run.calls("create", "pods"), 3);
  });

  it("deletes no extra pods while its pod informer is stale", async () => {
    await makeSet("web", 3);
    await comesTo("web", "3 3 0 0");
    run.holdInformer("pods");
    await test.patch(`${sets}/web`, { spec: { replicas: 2 } });
    await run.until(async () => (await livePods(test)).length === 2);
    await test.patch(`${sets}/web`, { metadata: { annotations: { a: "b" } } });
    await makeSet("probe", 0);
    await comesTo("probe", "0 0 0 0");
    run.releaseInformer("pods");
    await comesTo("web", "2 2 0 0");
    assert.equal(run.calls("delete", "pods"), 1);
  });

  it("sets ReplicaFailure while pods cannot be created, with few attempts, and recovers", async () => {
    run.failNext("create", "pods", 2);
    await makeSet("web", 4);
    await comesTo("web", "0 0 0 0 FailedCreate");
    const [condition] = (await statusOf("web")).conditions;
    assert.deepEqual(
      [condition.type, condition.status, condition.message],
      ["ReplicaFailure", "True", "Internal error occurred: injected"],
    );
    await run.until(async () => {
      test.clock.advance(100);
      return (await livePods(test)).length === 4;
    });
    await comesTo("web", "4 4 0 0");
    assert.equal(run.calls("create", "pods"), 2 + 4);
    const event = await run.until(async () => (await eventsOf("FailedCreate"))[0]);
    assert.equal(event.type, "Warning");
    assert.match(event.message, /^Error creating: /);
  });

  it("writes nothing if nothing changes", async () => {
    await makeSet("web", 1);
    await comesTo("web", "1 1 0 0");
    const updates = run.calls("update", "replicasets");
    const [pod] = await livePods(test);
    await test.patch(`v1/pods/ns/${pod.metadata.name}`, { metadata: { annotations: { a: "b" } } });
    await makeSet("probe", 0);
    await comesTo("probe", "0 0 0 0");
    assert.equal(run.calls("update", "replicasets"), updates + 1);
  });

  it("creates at most 500 pods per sync", async () => {
    await makeSet("first", 0);
    await comesTo("first", "0 0 0 0");
    run.holdInformer("pods");
    await makeSet("web", 502);
    await run.until(async () => run.calls("create", "pods") >= 500);
    await makeSet("probe", 0);
    await comesTo("probe", "0 0 0 0");
    assert.equal(run.calls("create", "pods"), 500);
    run.releaseInformer("pods");
    await comesTo("web", "502 502 0 0");
    assert.equal(run.calls("create", "pods"), 502);
  });
});

describe("replicaset-controller: crashes", () => {
  it("reach the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runSets],
      play: async (crashing) => {
        ({ test } = crashing);
        await makePod("orphan");
        await makeSet("web", 4);
        await crashing.until(async () => {
          await makePodsReady(test);
          return (await statusOf("web")).availableReplicas === 4;
        });
        await test.patch(`${sets}/web`, { spec: { replicas: 2 } });
        await crashing.until(async () => (await livePods(test)).length === 2);
      },
      endState: async (at) => {
        const { status } = (await at.get(`${sets}/web`)).object;
        return { status, pods: (await livePods(at)).length };
      },
    });
    assert.ok(crashes >= 5, String(crashes));
  });
});

describe("replicationcontroller-controller", () => {
  const controllers = "v1/replicationcontrollers/ns";

  it("creates, counts and deletes the pods of its map selector", async () => {
    test = await testRegistry();
    run = await startController(runControllers, { test, clock: test.clock });
    const spec = { replicas: 2, selector: labels, template: podTemplate(labels) };
    await test.post(controllers, { metadata: { name: "old" }, spec });
    const status = async () => (await test.get(`${controllers}/old`)).object.status;
    await run.until(async () => (await status()).replicas === 2);
    await makePodsReady(test);
    await run.until(async () => (await status()).availableReplicas === 2);
    const [pod] = await livePods(test);
    assert.equal(pod.metadata.ownerReferences[0].kind, "ReplicationController");
    assert.equal(pod.metadata.ownerReferences[0].apiVersion, "v1");
    await test.patch(`${controllers}/old`, { spec: { replicas: 0 } });
    await run.until(async () => (await status()).replicas === 0);
    const event = await run.until(async () => (await eventsOf("SuccessfulCreate"))[0]);
    assert.equal(event.source.component, "replication-controller");
    await run.stop();
  });
});
