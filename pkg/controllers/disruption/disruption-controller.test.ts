/** Status of PodDisruptionBudgets, and its use by evictions. */
import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../testing.ts";
import { refusal, type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { runDisruptionController } from "./disruption-controller.ts";

const budgets = "policy/v1/poddisruptionbudgets/ns";
const pods = "v1/pods/ns";
const labels = { app: "a" };
const selector = { matchLabels: labels };
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };

let run: ControllerTest;
let test: TestRegistry;

/** `expected current/desired allowed reason` of a budget. */
async function stateOf(name: string): Promise<string> {
  const { status, metadata } = (await test.get(`${budgets}/${name}`)).object;
  if (Number(status.observedGeneration) !== Number(metadata.generation)) return "not observed";
  const { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed } = status;
  const [{ reason }] = status.conditions;
  return `${expectedPods} ${currentHealthy}/${desiredHealthy} ${disruptionsAllowed} ${reason}`;
}

async function comesTo(name: string, state: string): Promise<void> {
  let last = "";
  await run
    .until(async () => (last = await stateOf(name).catch(String)) === state)
    .catch(() => assert.equal(last, state));
}

const makeBudget = (name: string, spec: object) =>
  test.post(budgets, { metadata: { name }, spec: { selector, ...spec } });

async function makePod(name: string, owner?: object, isReady = true): Promise<void> {
  const ownerReferences = owner === undefined ? [] : [{ ...owner, controller: true }];
  await test.post(pods, { metadata: { name, labels, ownerReferences }, spec: template.spec });
  await setReady(name, isReady);
}

const condition = (type: string, status: string, more: object = {}) => ({
  type,
  status,
  lastTransitionTime: new Date(test.clock.now()).toISOString().replace(/\.\d+/, ""),
  ...more,
});

const setReady = (name: string, isReady: boolean) =>
  test.patch(`${pods}/${name}/status`, {
    status: { phase: "Running", conditions: [condition("Ready", isReady ? "True" : "False")] },
  });

const evict = (name: string) =>
  refusal(
    test.post(`${pods}/${name}/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace: "ns" },
    }),
  );

/** The first Event about an object. */
const eventOf = async (name: string): Promise<any> => {
  const found: any[] = [];
  for await (const { object } of (await test.list("v1/events/ns")).items) found.push(object);
  return found.find(({ involvedObject }) => involvedObject.name === name);
};

async function makeOwner(
  plural: string,
  kind: string,
  more: { readonly name?: string; readonly owner?: object; readonly replicas?: number } = {},
): Promise<object> {
  const { name = "w", owner, replicas = 10 } = more;
  const group = plural === "replicationcontrollers" ? "" : "apps/";
  const ownerReferences = owner === undefined ? [] : [{ ...owner, controller: true }];
  const own = plural === "replicationcontrollers" ? labels : selector;
  const spec = { replicas, selector: own, template, serviceName: "s" };
  const body = { metadata: { name, ownerReferences }, spec };
  const { item } = await test.post(`${group}v1/${plural}/ns`, body);
  return { apiVersion: `${group}v1`, kind, name, uid: item.object.metadata.uid };
}

beforeEach(async () => {
  test = await testRegistry();
  run = await startController(runDisruptionController, { test, clock: test.clock });
});
afterEach(() => run.stop());

describe("disruption-controller: the status of a budget", () => {
  it("counts pods against a number, as they are created, become ready and are deleted", async () => {
    await makeBudget("b", { minAvailable: 2 });
    await comesTo("b", "0 0/2 0 InsufficientPods");
    for (const name of ["p1", "p2", "p3"]) await makePod(name, undefined, false);
    await comesTo("b", "3 0/2 0 InsufficientPods");
    for (const name of ["p1", "p2", "p3"]) await setReady(name, true);
    await comesTo("b", "3 3/2 1 SufficientPods");
    await test.patch(`${pods}/p1`, { metadata: { labels: { app: "other" } } });
    await comesTo("b", "2 2/2 0 InsufficientPods");
    await test.patch(`${budgets}/b`, { spec: { minAvailable: 1 } });
    await comesTo("b", "2 2/1 1 SufficientPods");
    await test.remove(`${pods}/p2`, { gracePeriodSeconds: 0 });
    await comesTo("b", "1 1/1 0 InsufficientPods");
  });

  it("writes nothing if nothing has changed", async () => {
    await makePod("p");
    await makeBudget("b", { minAvailable: 0 });
    await comesTo("b", "1 1/0 1 SufficientPods");
    const { metadata } = (await test.get(`${budgets}/b`)).object;
    await test.patch(`${pods}/p`, { metadata: { annotations: { a: "b" } } });
    await makeBudget("probe", { minAvailable: 0 });
    await comesTo("probe", "1 1/0 1 SufficientPods");
    const { metadata: later } = (await test.get(`${budgets}/b`)).object;
    assert.equal(later.resourceVersion, metadata.resourceVersion);
  });

  const specs: readonly (readonly [object, replicas: number, string])[] = [
    [{ maxUnavailable: "30%" }, 5, "5 2/3 0 InsufficientPods"],
    [{ maxUnavailable: "80%" }, 5, "5 2/1 1 SufficientPods"],
    [{ minAvailable: "25%" }, 5, "5 2/2 0 InsufficientPods"],
    [{ minAvailable: "20%" }, 5, "5 2/1 1 SufficientPods"],
    [{ maxUnavailable: 4 }, 5, "5 2/1 1 SufficientPods"],
    [{ maxUnavailable: 9 }, 5, "5 2/0 2 SufficientPods"],
    [{ maxUnavailable: 1 }, 0, "0 2/0 0 InsufficientPods"],
  ];
  for (const [spec, replicas, state] of specs) {
    it(`of ${JSON.stringify(spec)} with ${replicas} replicas is ${state}`, async () => {
      const owner = await makeOwner("replicasets", "ReplicaSet", { replicas });
      for (const name of ["p1", "p2"]) await makePod(name, owner);
      await makeBudget("b", spec);
      await comesTo("b", state);
    });
  }

  for (const [plural, kind] of [
    ["replicationcontrollers", "ReplicationController"],
    ["replicasets", "ReplicaSet"],
    ["statefulsets", "StatefulSet"],
  ] as const) {
    it(`derives the expected pods from the scale of a ${kind}, also after it changes`, async () => {
      const owner = await makeOwner(plural, kind);
      await makePod("p", owner);
      await makeBudget("b", { minAvailable: "10%" });
      await comesTo("b", "10 1/1 0 InsufficientPods");
      const group = kind === "ReplicationController" ? "" : "apps/";
      await test.patch(`${group}v1/${plural}/ns/w`, { spec: { replicas: 20 } });
      await comesTo("b", "20 1/2 0 InsufficientPods");
    });
  }

  it("derives the expected pods from the Deployment of several ReplicaSets once", async () => {
    const deployment = await makeOwner("deployments", "Deployment", { name: "d" });
    for (const name of ["old", "new"]) {
      const set = await makeOwner("replicasets", "ReplicaSet", { name, owner: deployment });
      await makePod(name, set);
    }
    await makeBudget("b", { minAvailable: "10%" });
    await comesTo("b", "10 2/1 1 SufficientPods");
  });

  it("adds up the scales of different controllers", async () => {
    await makePod("p", await makeOwner("replicasets", "ReplicaSet", { replicas: 3 }));
    await makePod("q", await makeOwner("statefulsets", "StatefulSet", { replicas: 4 }));
    await makeBudget("b", { maxUnavailable: 5 });
    await comesTo("b", "7 2/2 0 InsufficientPods");
  });

  it("ignores pods without a controller, and records an Event", async () => {
    await makePod("p");
    await makeBudget("b", { maxUnavailable: 1 });
    await comesTo("b", "0 1/0 0 InsufficientPods");
    const event = await run.until(() => eventOf("b"));
    assert.deepEqual(
      [event.type, event.reason, event.source.component],
      ["Warning", "UnmanagedPods", "controllermanager"],
    );
    const shown =
      "&LabelSelector{MatchLabels:map[string]string{app: a,}," +
      "MatchExpressions:[]LabelSelectorRequirement{},}";
    assert.ok(event.message.includes(`(selector: ${shown}) were found`), event.message);
  });

  const failures: readonly (readonly [string, object, RegExp])[] = [
    [
      "of a kind without scale",
      { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u" },
      /^daemonsets\.apps does not implement the scale subresource$/,
    ],
    [
      "of a kind that is not served",
      { apiVersion: "example.com/v1", kind: "Set", name: "d", uid: "u" },
      /^no matches for kind "Set" in version "example.com\/v1"$/,
    ],
    [
      "that is gone",
      { apiVersion: "apps/v1", kind: "StatefulSet", name: "d", uid: "u" },
      /^found no controllers for pod "p"$/,
    ],
  ];
  for (const [what, owner, message] of failures) {
    it(`allows no disruption of pods with a controller ${what}, until that is fixed`, async () => {
      await makePod("p", owner);
      await makeBudget("b", { minAvailable: "10%" });
      const status = await run.until(async () => {
        const { status } = (await test.get(`${budgets}/b`)).object;
        return status.conditions?.[0]?.reason === "SyncFailed" && status;
      });
      assert.match(status.conditions[0].message, message);
      assert.equal(status.disruptionsAllowed ?? 0, 0);
      await test.patch(`${budgets}/b`, { spec: { minAvailable: 0 } });
      await comesTo("b", "1 1/0 1 SufficientPods");
    });
  }
});

describe("disruption-controller: evictions", () => {
  beforeEach(async () => {
    for (const name of ["p1", "p2", "p3"]) await makePod(name);
    await makeBudget("b", { minAvailable: 2 });
    await comesTo("b", "3 3/2 1 SufficientPods");
  });

  it("pass while the budget allows them", async () => {
    assert.equal(await evict("p1"), "accepted");
    await test.remove(`${pods}/p1`, { gracePeriodSeconds: 0 }).catch(() => undefined);
    await comesTo("b", "2 2/2 0 InsufficientPods");
    assert.match(await evict("p2"), /^429 /);
    await makePod("p4");
    await comesTo("b", "3 3/2 1 SufficientPods");
    assert.equal(await evict("p2"), "accepted");
  });

  it("count as disruptions for two minutes if the pod is not deleted", async () => {
    const now = new Date(test.clock.now()).toISOString().replace(/\.\d+/, "");
    // State after a crash of an API server between the budget's status update and the pod's
    // deletion.
    await test.patch(`${budgets}/b/status`, {
      status: { disruptionsAllowed: 0, disruptedPods: { p1: now, gone: now } },
    });
    await comesTo("b", "3 2/2 0 InsufficientPods");
    await run.until(async () => {
      const { status } = (await test.get(`${budgets}/b`)).object;
      return Object.keys(status.disruptedPods).join() === "p1";
    });
    test.clock.advance(121_000);
    await comesTo("b", "3 3/2 1 SufficientPods");
    const event = await run.until(() => eventOf("p1"));
    assert.equal(event.reason, "NotDeleted");
  });

  it("are announced to fail for pods in two budgets", async () => {
    await makeBudget("other", { minAvailable: 0 });
    await comesTo("other", "3 3/0 3 SufficientPods");
    await setReady("p1", false);
    await comesTo("other", "3 2/0 2 SufficientPods");
    await comesTo("b", "3 2/2 0 InsufficientPods");
    const event = await run.until(() => eventOf("p1"));
    assert.equal(event.reason, "MultiplePodDisruptionBudgets");
  });
});

describe("disruption-controller: failures and restarts", () => {
  it("retries a failed update, and a conflict", async () => {
    run.failNext("update", "poddisruptionbudgets", 3);
    await makePod("p");
    await makeBudget("b", { minAvailable: 0 });
    await run.until(async () => {
      test.clock.advance(100);
      return (await stateOf("b").catch(String)) === "1 1/0 1 SufficientPods";
    });
    for (let round = 0; round < 20; round++) {
      await test.patch(`${budgets}/b`, { metadata: { annotations: { round: String(round) } } });
      await setReady("p", round % 2 === 1);
    }
    await run.until(async () => {
      test.clock.advance(100);
      return (await stateOf("b").catch(String)) === "1 1/0 1 SufficientPods";
    });
  });

  it("continues after another process stopped", async () => {
    await makePod("p");
    await makeBudget("b", { minAvailable: 1 });
    await comesTo("b", "1 1/1 0 InsufficientPods");
    await run.stop();
    await makePod("q");
    run = await startController(runDisruptionController, { test, clock: test.clock });
    await comesTo("b", "2 2/1 1 SufficientPods");
  });
});

describe("disruption-controller: DisruptionTarget", () => {
  const target = (reason: string) => condition("DisruptionTarget", "True", { reason });
  const statusOf = async (name: string) => {
    const { status } = (await test.get(`${pods}/${name}`)).object;
    return status.conditions.find(({ type }: any) => type === "DisruptionTarget").status;
  };

  it("is reset after two minutes, unless set by a kubelet or on a terminated pod", async () => {
    const names = ["stale", "by-kubelet", "ended"];
    for (const name of names) await makePod(name);
    const set = (name: string, status: object) => test.patch(`${pods}/${name}/status`, { status });
    await set("stale", { conditions: [target("EvictionByEvictionAPI")] });
    await set("by-kubelet", { conditions: [target("TerminationByKubelet")] });
    await set("ended", { phase: "Failed", conditions: [target("PreemptionByScheduler")] });
    run.failNext("update", "pods", 2);
    await run.until(async () => {
      test.clock.advance(1_000);
      return (await statusOf("stale")) === "False";
    });
    assert.equal(await statusOf("by-kubelet"), "True");
    assert.equal(await statusOf("ended"), "True");
  });
});
