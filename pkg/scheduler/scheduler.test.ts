/** Invariants of scheduling, checked against an oracle that evaluates every node for every pod. */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type ControllerTest, startController } from "../controllers/testing.ts";
import { collected, type TestRegistry, testRegistry } from "../registry/testing.ts";
import { defaultSchedulerSettings, runScheduler } from "./index.ts";

const podsPath = "v1/pods/ns";
const hostname = "kubernetes.io/hostname";

async function listed(test: TestRegistry, path: string): Promise<any[]> {
  return (await collected((await test.list(path)).items)).map(({ object }) => object);
}

const start = (test: TestRegistry) =>
  startController((context) => runScheduler(context, defaultSchedulerSettings), { test });

function makeNode(test: TestRegistry, name: string, cpu: number, more: any = {}) {
  const allocatable = { cpu: String(cpu), memory: "8Gi", pods: "5" };
  const labels = { [hostname]: name, ...more.labels };
  return test.post("v1/nodes", {
    metadata: { name, labels },
    spec: { taints: more.taints ?? [] },
    status: { allocatable, capacity: allocatable },
  });
}

function makePod(test: TestRegistry, name: string, spec: any, labels: any = {}) {
  const { cpu = 0, hostPort, ...rest } = spec;
  const ports = hostPort === undefined ? {} : { ports: [{ containerPort: hostPort, hostPort }] };
  const resources = cpu === 0 ? {} : { requests: { cpu: `${cpu * 100}m` } };
  const containers = [{ name: "c", image: "i", resources, ...ports }];
  const metadata = { name, labels };
  return test.post(podsPath, {
    metadata,
    spec: { containers, ...rest, schedulerName: "default-scheduler" },
  });
}

const requested = (pod: any) =>
  Number.parseInt(pod.spec.containers[0].resources?.requests?.cpu ?? "0", 10) *
  (pod.spec.containers[0].resources?.requests?.cpu?.endsWith("m") ? 1 : 1000);
const portsOf = (pod: any): number[] =>
  (pod.spec.containers[0].ports ?? []).map((port: any) => port.hostPort);
const repels = (pod: any, other: any) =>
  pod.spec.affinity?.podAntiAffinity !== undefined &&
  other.metadata.labels?.app ===
    pod.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]
      .labelSelector.matchLabels.app;

/** Whether the pod fits with the others, computed only from the objects. */
function fits(pod: any, node: any, others: readonly any[]): boolean {
  const isTolerated = (node.spec.taints ?? []).every((taint: any) =>
    (pod.spec.tolerations ?? []).some(
      ({ key, operator }: any) => key === taint.key && operator === "Exists",
    ),
  );
  const isSelected = Object.entries(pod.spec.nodeSelector ?? {}).every(
    ([key, value]) => node.metadata.labels[key] === value,
  );
  const sum = [pod, ...others].reduce((all, each) => all + requested(each), 0);
  const ports = new Set(others.flatMap(portsOf));
  return (
    isTolerated &&
    isSelected &&
    sum <= Number(node.status.allocatable.cpu) * 1000 &&
    others.length + 1 <= 5 &&
    !portsOf(pod).some((port) => ports.has(port)) &&
    !others.some((other) => repels(pod, other) || repels(other, pod))
  );
}

function randomSpec(random: Random): any {
  const chance = (percent: number) => random.below(100) < percent;
  const app = random.pick(["a", "b"]);
  const term = { labelSelector: { matchLabels: { app } }, topologyKey: hostname };
  return {
    cpu: random.below(15),
    ...(chance(20) ? { hostPort: 8000 + random.below(2) } : {}),
    ...(chance(30) ? { nodeSelector: { disk: random.pick(["ssd", "hdd"]) } } : {}),
    ...(chance(40) ? { tolerations: [{ key: "team", operator: "Exists" }] } : {}),
    ...(chance(25)
      ? {
          affinity: {
            podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
          },
        }
      : {}),
  };
}

/** Whether every bound pod fits, and no pending pod would fit anywhere. */
async function verdict(test: TestRegistry): Promise<string> {
  const [nodes, pods] = [await listed(test, "v1/nodes"), await listed(test, podsPath)];
  const on = (node: any) => pods.filter((pod) => pod.spec.nodeName === node.metadata.name);
  for (const node of nodes) {
    for (const pod of on(node)) {
      const others = on(node).filter((each) => each !== pod);
      assert.ok(fits(pod, node, others), `${pod.metadata.name} does not fit`);
    }
  }
  const feasible = pods.filter(
    (pod) => !pod.spec.nodeName && nodes.some((node) => fits(pod, node, on(node))),
  );
  return feasible.map(({ metadata }) => metadata.name).join(" ");
}

describe("scheduler", () => {
  let run: ControllerTest;
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["ns"] });
  });
  afterEach(() => run.stop());

  async function settles(): Promise<void> {
    let left = "";
    await run
      .until(async () => (left = await verdict(test)) === "")
      .catch(() => assert.equal(left, "", "these pods fit but are pending"));
  }

  for (const seed of [1, 2, 3]) {
    it(`binds pods that fit, and leaves no feasible pod pending, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      for (let at = 0; at < 6; at++) {
        const labels = { disk: random.pick(["ssd", "hdd"]) };
        const taints = random.below(3) === 0 ? [{ key: "team", effect: "NoSchedule" }] : [];
        await makeNode(test, `n${at}`, 1 + random.below(3), { labels, taints });
      }
      run = await start(test);
      for (let at = 0; at < 30; at++) {
        await makePod(test, `p${at}`, randomSpec(random), { app: random.pick(["a", "b", "c"]) });
        if (at === 15) {
          // Another scheduler takes over during the attempts.
          await run.stop();
          run = await start(test);
        }
      }
      await settles();
      const bound = (await listed(test, podsPath)).filter((pod) => pod.spec.nodeName);
      for (const pod of bound.filter((_pod, at) => at % 3 === 0)) {
        await test.remove(`${podsPath}/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
      }
      await settles();
    });
  }

  for (const seed of [1, 2, 3]) {
    it(`overcommits no node with stale caches, failures and restarts, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      for (let at = 0; at < 4; at++) await makeNode(test, `n${at}`, 2 + random.below(2));
      run = await start(test);
      const homes = new Map<string, string>();
      for (let at = 0; at < 40; at++) {
        await makePod(test, `p${at}`, { cpu: 1 + random.below(6) });
        const chosen = random.below(8);
        if (chosen === 0) run.holdInformer(random.pick(["pods", "nodes"]));
        else if (chosen === 1) for (const each of ["pods", "nodes"]) run.releaseInformer(each);
        else if (chosen === 2) run.failNext("create", "pods", 1 + random.below(3));
        else if (chosen === 3) {
          await run.stop();
          run = await start(test);
        } else if (chosen === 4) {
          const bound = (await listed(test, podsPath)).filter((pod) => pod.spec.nodeName);
          if (bound.length === 0) continue;
          const { name } = random.pick(bound).metadata;
          await test.remove(`${podsPath}/${name}`, { gracePeriodSeconds: 0 });
        }
        await verdict(test);
        for (const { metadata, spec } of await listed(test, podsPath)) {
          if (!spec.nodeName) continue;
          assert.equal(homes.get(metadata.uid) ?? spec.nodeName, spec.nodeName);
          homes.set(metadata.uid, spec.nodeName);
        }
      }
      for (const each of ["pods", "nodes"]) run.releaseInformer(each);
      await settles();
    });
  }

  it("evicts only what a pod needs while other pods preempt concurrently", async () => {
    for (const name of ["a", "b", "c"]) await makeNode(test, name, 4);
    run = await start(test);
    const low = { cpu: 9, priority: 1, terminationGracePeriodSeconds: 0 };
    for (let at = 0; at < 12; at++) await makePod(test, `low-${at}`, low);
    const boundOf = async (prefix: string) =>
      (await listed(test, podsPath)).filter(
        ({ metadata, spec }) => metadata.name.startsWith(prefix) && spec.nodeName,
      ).length;
    await run.until(async () => (await boundOf("low")) === 12);
    for (let at = 0; at < 3; at++) await makePod(test, `high-${at}`, { cpu: 30, priority: 100 });
    await run.until(async () => (await boundOf("high")) === 3);
    assert.equal(await boundOf("low"), 3);
  });

  it("evicts a pod of lower priority, and not the one that a budget protects", async () => {
    await makeNode(test, "a", 1);
    await makeNode(test, "b", 1);
    await test.post("policy/v1/poddisruptionbudgets/ns", {
      metadata: { name: "kept" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "kept" } } },
    });
    run = await start(test);
    for (const app of ["kept", "other"]) {
      await makePod(test, app, { cpu: 8, priority: 1, terminationGracePeriodSeconds: 0 }, { app });
    }
    const nodeOf = async (name: string) =>
      (await test.get(`${podsPath}/${name}`)).object.spec.nodeName;
    await run.until(async () => (await nodeOf("kept")) && (await nodeOf("other")));
    const freed = await nodeOf("other");
    await makePod(test, "high", { cpu: 8, priority: 100 });
    await run.until(() => nodeOf("high"));
    assert.equal(await nodeOf("high"), freed);
    assert.deepEqual(await test.names(podsPath), ["high", "kept"]);
  });

  it("reports why a pod does not fit", async () => {
    await makeNode(test, "a", 1, { taints: [{ key: "team", effect: "NoSchedule" }] });
    await makeNode(test, "b", 1);
    run = await start(test);
    await makePod(test, "big", { cpu: 50 });
    const condition = async () =>
      (await test.get(`${podsPath}/big`)).object.status.conditions?.find(
        ({ type }: any) => type === "PodScheduled",
      );
    const { status, reason, message } = await run.until(condition);
    assert.deepEqual([status, reason], ["False", "Unschedulable"]);
    assert.equal(
      message,
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new " +
        "claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful " +
        "for scheduling.",
    );
  });
});
