import assert from "node:assert/strict";
import type { ControllerContext } from "../../controller-context.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { listAt, livePods, podTemplate, setPodStatus } from "../../pods/testing.ts";
import { podTemplateHash } from "../../pods/template-hash.ts";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { runDaemonSetController } from "./daemon-set-controller.ts";

const labels = { app: "agent" };
const path = "apps/v1/daemonsets/ns";
const revisionsPath = "apps/v1/controllerrevisions/ns";
const runSets = (context: ControllerContext) =>
  runDaemonSetController(context, { daemonSetWorkers: 2 });

let test: TestRegistry;
let run: Pick<ControllerTest, "until">;

const makeNode = (name: string, more: { labels?: object; spec?: object } = {}) =>
  test.post("v1/nodes", { metadata: { name, labels: more.labels ?? {} }, spec: more.spec ?? {} });

async function make(more: object = {}, podSpec: object = {}): Promise<void> {
  const template = podTemplate(labels, "v1");
  const selector = { matchLabels: labels };
  const withSpec = { ...template, spec: { ...template.spec, ...podSpec } };
  const spec = { selector, template: withSpec, ...more };
  await test.post(path, { metadata: { name: "agent" }, spec });
}

const set = async () => (await test.get(`${path}/agent`)).object;
const change = (spec: object) => test.patch(`${path}/agent`, { spec });
const setImage = (image: string) =>
  change({ template: { spec: { containers: [{ name: "c", image }] } } });
const nodeOf = ({ spec }: any) =>
  spec.nodeName ??
  spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]
    .matchFields[0].values[0];

/** `node:image` of the pods that do not terminate, in order of node. */
async function pods(): Promise<string> {
  const found = await livePods(test);
  return found
    .map((pod) => `${nodeOf(pod)}:${pod.spec.containers[0].image}`)
    .sort()
    .join(" ");
}

/** Binds pods to their nodes and makes them ready. */
async function runPods(onNode = ""): Promise<void> {
  for (const pod of await livePods(test)) {
    const { name } = pod.metadata;
    if (onNode !== "" && nodeOf(pod) !== onNode) continue;
    if (pod.spec.nodeName === undefined) {
      const target = { apiVersion: "v1", kind: "Node", name: nodeOf(pod) };
      await test.post(`v1/pods/ns/${name}/binding`, { metadata: { name }, target });
    }
    if (pod.status.phase !== "Running") await setPodStatus(test, name);
  }
}

/** Removes pods that terminate, as their kubelets would. */
async function endPods(): Promise<void> {
  for (const { metadata } of await listAt(test, "v1/pods/ns")) {
    if (metadata.deletionTimestamp === undefined) continue;
    await test.remove(`v1/pods/ns/${metadata.name}`, { gracePeriodSeconds: 0 });
  }
}

/** `desired current ready updated available misscheduled`, once the generation is observed. */
async function counts(): Promise<string> {
  const { metadata, status } = await set();
  if (metadata.generation !== status.observedGeneration) return "not observed";
  const { desiredNumberScheduled, currentNumberScheduled, numberReady } = status;
  const { updatedNumberScheduled, numberAvailable, numberMisscheduled } = status;
  const first = [desiredNumberScheduled, currentNumberScheduled, numberReady];
  const second = [updatedNumberScheduled, numberAvailable, numberMisscheduled];
  return [...first, ...second].map((each) => each ?? 0).join(" ");
}

async function comesTo(what: () => Promise<unknown>, wanted: unknown): Promise<void> {
  let found: unknown;
  await run
    .until(async () => {
      found = await what();
      return JSON.stringify(found) === JSON.stringify(wanted);
    })
    .catch((error: unknown) => assert.deepEqual(found, wanted, String(error)));
}

const eventsOf = async (reason: string) => {
  const events = await listAt(test, "v1/events/ns");
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
};

describe("daemonset-controller", () => {
  let started: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    started = await startController(runSets, { test, clock: test.clock });
    run = started;
  });
  afterEach(() => started.stop());

  it("creates a pod for each node, with tolerations and node affinity", async () => {
    await makeNode("a");
    await make();
    await comesTo(counts, "1 1 0 1 0 0");
    await makeNode("b");
    await comesTo(pods, "a:v1 b:v1");
    const [{ metadata, spec }] = await livePods(test);
    const hash = podTemplateHash((await set()).spec.template);
    assert.equal(metadata.labels["controller-revision-hash"], hash);
    assert.equal(metadata.generateName, "agent-");
    const node = (name: string) => `node.kubernetes.io/${name}`;
    assert.deepEqual(
      spec.tolerations.map(({ key, effect }: any) => [key, effect]),
      [
        [node("not-ready"), "NoExecute"],
        [node("unreachable"), "NoExecute"],
        [node("disk-pressure"), "NoSchedule"],
        [node("memory-pressure"), "NoSchedule"],
        [node("pid-pressure"), "NoSchedule"],
        [node("unschedulable"), "NoSchedule"],
      ],
    );
    await runPods();
    await comesTo(counts, "2 2 2 2 2 0");
    const [revision] = await listAt(test, revisionsPath);
    assert.equal(revision.metadata.name, `agent-${hash}`);
    assert.equal(revision.metadata.labels["controller-revision-hash"], hash);
  });

  it("respects node selectors, affinity and taints", async () => {
    const required = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "n", operator: "Gt", values: ["1"] }] }],
    };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
    await makeNode("small", { labels: { n: "1", on: "1" } });
    await makeNode("other", { labels: { n: "5" } });
    await makeNode("tainted", {
      labels: { n: "3", on: "1" },
      spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
    });
    await makeNode("good", {
      labels: { n: "2", on: "1" },
      spec: { taints: [{ key: "t", value: "v", effect: "NoExecute" }] },
    });
    const tolerations = [{ key: "t", value: "v" }];
    await make({}, { nodeSelector: { on: "1" }, affinity: { nodeAffinity }, tolerations });
    await comesTo(pods, "good:v1");
    await test.patch("v1/nodes//tainted", { spec: { taints: null } });
    await comesTo(pods, "good:v1 tainted:v1");
  });

  it("keeps pods on nodes with NoSchedule taints, and deletes misscheduled ones", async () => {
    for (const name of ["a", "b", "c"]) await makeNode(name, { labels: { on: "1" } });
    await make({}, { nodeSelector: { on: "1" } });
    await comesTo(pods, "a:v1 b:v1 c:v1");
    await runPods();
    await comesTo(counts, "3 3 3 3 3 0");
    await test.patch("v1/nodes//a", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } });
    await test.patch("v1/nodes//b", { spec: { taints: [{ key: "k", effect: "NoExecute" }] } });
    await test.patch("v1/nodes//c", { metadata: { labels: { on: "2" } } });
    await comesTo(pods, "a:v1");
    await endPods();
    await comesTo(counts, "0 0 0 0 0 1");
  });

  it("replaces pods node by node, each after the old pod is deleted", async () => {
    for (const name of ["a", "b"]) await makeNode(name);
    await make();
    await comesTo(pods, "a:v1 b:v1");
    await runPods();
    await comesTo(counts, "2 2 2 2 2 0");
    await setImage("v2");
    await run.until(async () => (await livePods(test)).length === 1);
    await comesTo(counts, "2 2 2 0 2 0");
    await endPods();
    await run.until(async () => (await livePods(test)).length === 2);
    await runPods();
    await run.until(async () => {
      await endPods();
      await runPods();
      return (await pods()) === "a:v2 b:v2";
    });
    await comesTo(counts, "2 2 2 2 2 0");
    const revisions = (await listAt(test, revisionsPath)).map(({ revision }) => Number(revision));
    assert.deepEqual(revisions.sort(), [1, 2]);
  });

  it("creates the new pod before it deletes the old one, with maxSurge", async () => {
    const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
    for (const name of ["a", "b"]) await makeNode(name);
    await make({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
    await comesTo(pods, "a:v1 b:v1");
    await runPods();
    await comesTo(counts, "2 2 2 2 2 0");
    const versions = async () => (await pods()).replace(/\w+:/g, "").split(" ").sort().join(" ");
    await setImage("v2");
    await comesTo(versions, "v1 v1 v2");
    await runPods();
    await comesTo(versions, "v1 v2 v2");
    await endPods();
    await runPods();
    await comesTo(pods, "a:v2 b:v2");
  });

  it("replaces pods only when they are deleted, with OnDelete", async () => {
    await makeNode("a");
    await make({ updateStrategy: { type: "OnDelete" } });
    await comesTo(pods, "a:v1");
    await runPods();
    await setImage("v2");
    await comesTo(counts, "1 1 1 0 1 0");
    const [pod] = await livePods(test);
    await test.remove(`v1/pods/ns/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
    await comesTo(pods, "a:v2");
  });

  it("rolls back to an earlier revision, and truncates history to its limit", async () => {
    await makeNode("a");
    await make({ revisionHistoryLimit: 1 });
    for (const image of ["v1", "v2", "v3", "v2"]) {
      await setImage(image);
      await run.until(async () => {
        await endPods();
        await runPods();
        return (await pods()) === `a:${image}` && (await counts()) === "1 1 1 1 1 0";
      });
    }
    const shown = async () => {
      const revisions = await listAt(test, revisionsPath);
      return revisions
        .map(({ data, revision }) => [
          data.spec.template.spec.containers[0].image,
          Number(revision),
        ])
        .sort();
    };
    await comesTo(shown, [
      ["v2", 4],
      ["v3", 3],
    ]);
  });

  it("does not deduplicate an equal revision before the set changes", async () => {
    await make();
    await comesTo(counts, "0 0 0 0 0 0");
    const [{ metadata: made, data }] = await listAt(test, revisionsPath);
    const { spec } = await set();
    const numbers = async () =>
      (await listAt(test, revisionsPath)).map(({ revision }) => Number(revision)).sort();
    // Earlier queue items are processed once a DaemonSet that is created later has its revision.
    const waitForOthers = async (name: string, wanted: readonly number[]) => {
      await test.post("apps/v1/daemonsets/ns", { metadata: { name }, spec });
      await comesTo(numbers, wanted);
    };
    await waitForOthers("second", [1, 1]);
    const { labels, ownerReferences } = made;
    const metadata = { name: "equal", labels, ownerReferences };
    await test.post(revisionsPath, { metadata, data, revision: 2 });
    await waitForOthers("third", [1, 1, 1, 2]);
    await test.patch("apps/v1/daemonsets/ns/agent", { metadata: { annotations: { a: "b" } } });
    await comesTo(numbers, [1, 1, 2]);
  });

  it("replaces failed pods with backoff, and succeeded ones immediately", async () => {
    await makeNode("a");
    await make();
    const fail = async (phase: string) => {
      await run.until(async () => (await livePods(test)).length === 1);
      const [{ metadata }] = await livePods(test);
      await setPodStatus(test, metadata.name, { ready: false, phase });
      return metadata.name;
    };
    const isGone = async (name: string) => {
      await endPods();
      return !(await test.names("v1/pods/ns")).includes(name);
    };
    const first = await fail("Failed");
    await run.until(() => isGone(first));
    const second = await fail("Failed");
    await comesTo(counts, "1 1 0 1 0 0");
    assert.ok(!(await isGone(second)));
    test.clock.advance(1_000);
    await run.until(() => isGone(second));
    const third = await fail("Succeeded");
    await run.until(() => isGone(third));
    await comesTo(
      async () => (await eventsOf("FailedDaemonPod")).sort(),
      [
        `Found failed daemon pod ns/${first} on node a, will try to kill it`,
        `Found failed daemon pod ns/${second} on node a, will try to kill it`,
      ].sort(),
    );
    await comesTo(
      () => eventsOf("SucceededDaemonPod"),
      [`Found succeeded daemon pod ns/${third} on node a, will try to delete it`],
    );
  });

  it("uses another revision name on a hash collision", async () => {
    await make();
    await comesTo(counts, "0 0 0 0 0 0");
    const hash = podTemplateHash((await set()).spec.template);
    await test.remove(`${revisionsPath}/agent-${hash}`);
    await test.post(revisionsPath, {
      metadata: { name: `agent-${hash}` },
      data: { other: true },
      revision: 1,
    });
    await change({ minReadySeconds: 1 });
    await run.until(async () => {
      test.clock.advance(10);
      return (await set()).status.collisionCount === 1;
    });
    const next = podTemplateHash((await set()).spec.template, 1);
    await run.until(async () => {
      test.clock.advance(10);
      return (await test.names(revisionsPath)).includes(`agent-${next}`);
    });
  });

  it("creates no pod twice while its pod informer is stale", async () => {
    await make();
    await comesTo(counts, "0 0 0 0 0 0");
    started.holdInformer("pods");
    await makeNode("a");
    await comesTo(pods, "a:v1");
    await makeNode("b");
    await test.patch(`${path}/agent`, { metadata: { annotations: { a: "b" } } });
    await run.until(async () => (await set()).status.desiredNumberScheduled === 2);
    assert.equal(await pods(), "a:v1");
    started.releaseInformer("pods");
    await comesTo(pods, "a:v1 b:v1");
    assert.equal(started.calls("create", "pods"), 2);
  });

  it("counts a pod as available after minReadySeconds", async () => {
    await makeNode("a");
    await make({ minReadySeconds: 30 });
    await comesTo(pods, "a:v1");
    await runPods();
    await comesTo(counts, "1 1 1 1 0 0");
    test.clock.advance(30_000);
    await comesTo(counts, "1 1 1 1 1 0");
  });
});

describe("daemonset-controller: crashes", () => {
  it("reach the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runSets],
      stride: 2,
      play: async (crashing) => {
        ({ test } = crashing);
        run = crashing;
        for (const name of ["a", "b"]) await makeNode(name);
        await make();
        await run.until(async () => {
          await runPods();
          return (await counts()) === "2 2 2 2 2 0";
        });
        await setImage("v2");
        await run.until(async () => {
          await endPods();
          await runPods();
          return (await pods()) === "a:v2 b:v2" && (await counts()) === "2 2 2 2 2 0";
        });
      },
      endState: async (at) => ({
        status: (await at.get(`${path}/agent`)).object.status,
        pods: (await livePods(at)).length,
        revisions: await at.names(revisionsPath),
      }),
    });
    assert.ok(crashes >= 4, String(crashes));
  });
});
