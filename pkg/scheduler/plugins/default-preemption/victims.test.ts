/** Invariants of preemption, checked against an oracle that tries every set of victims. */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type Pod, priorityOf } from "#kinds";
import type { SchedulingContext } from "../../framework/contract.ts";
import { CycleState } from "../../framework/cycle-state.ts";
import type { Filters } from "../../framework/handle.ts";
import { NodeInfo } from "../../framework/node-info.ts";
import { podInfoOf } from "../../framework/pod-info.ts";
import { unschedulable } from "../../framework/status.ts";
import { podNamed } from "../testing.ts";
import { type Budget, budgetOf, type Candidate, pickCandidate, selectVictims } from "./victims.ts";

/** Filters that check CPU only. */
const filters: Filters = {
  filterWithNominated: ({ podInfo }, { requested, allocatable }) =>
    requested.milliCpu + podInfo.requests.milliCpu <= allocatable.milliCpu
      ? undefined
      : unschedulable("Fit", "Insufficient cpu"),
  addPod: () => undefined,
  removePod: () => undefined,
};

const apps = ["a", "b", "c"];

function cpuPod(name: string, app: string, values: { cpu: number; priority: number }): Pod {
  const resources = { requests: { cpu: String(values.cpu) } };
  const containers = [{ name: "c", resources }];
  return podNamed(name, { app }, { containers, priority: values.priority });
}

function randomPod(random: Random, name: string): Pod {
  const values = { cpu: 1 + random.below(4), priority: random.below(4) };
  const pod = cpuPod(name, random.pick(apps), values);
  const startTime = `2026-01-01T00:00:0${random.below(10)}Z`;
  return { ...pod, status: random.below(5) === 0 ? {} : { startTime } };
}

function randomBudgets(random: Random): readonly Budget[] {
  return apps.slice(0, random.below(3)).map((app) =>
    budgetOf({
      metadata: { name: app, namespace: "ns", uid: app, resourceVersion: "1" },
      spec: { selector: { matchLabels: { app } } },
      status: { disruptionsAllowed: random.below(2) },
    }),
  );
}

const startOf = (pod: Pod) => Date.parse(pod.status?.startTime ?? "9999-01-01");
const cpuOf = (pods: readonly Pod[]) =>
  pods.reduce((sum, pod) => sum + podInfoOf(pod).requests.milliCpu / 1000, 0);
const byImportance = (a: Pod, b: Pod) =>
  priorityOf(b) - priorityOf(a) || startOf(a) - startOf(b) || 0;

interface Scene {
  readonly incoming: Pod;
  readonly cpu: number;
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
}

function randomScene(random: Random): Scene {
  const count = random.below(7);
  const pods = Array.from({ length: count }, (_value, at) => randomPod(random, `p${at}`));
  const incoming = cpuPod("incoming", "d", {
    cpu: 1 + random.below(6),
    priority: 1 + random.below(4),
  });
  return { incoming, cpu: cpuOf(pods) + random.below(3), pods, budgets: randomBudgets(random) };
}

function select({ incoming, cpu, pods, budgets }: Scene) {
  const node = new NodeInfo({
    metadata: { name: "n", uid: "n", resourceVersion: "1" },
    status: { allocatable: { cpu: String(cpu), pods: "100" } },
  });
  for (const pod of pods) node.add(podInfoOf(pod));
  const podInfo = podInfoOf(incoming);
  const rest = () => undefined;
  const context: SchedulingContext = { state: new CycleState(), pod: incoming, podInfo, rest };
  return selectVictims(filters, context, node, budgets);
}

/** Lower pods in the order in which they are kept: those whose eviction violates a budget first. */
function keptOrder({ incoming, pods, budgets }: Scene) {
  const lower = pods.filter((pod) => priorityOf(pod) < priorityOf(incoming));
  const sorted = lower.toSorted(byImportance);
  const left = new Map(budgets.map((each) => [each, each.budget.status!.disruptionsAllowed!]));
  const isViolating = sorted.map((pod) => {
    const own = budgets.filter(({ selector }) => selector.matches(pod.metadata.labels ?? {}));
    for (const each of own) left.set(each, left.get(each)! - 1);
    return own.some((each) => left.get(each)! < 0);
  });
  const violating = sorted.filter((_pod, at) => isViolating[at]);
  const others = sorted.filter((_pod, at) => !isViolating[at]);
  return { order: [...violating, ...others], violating };
}

/** The victims that leave the lexicographically greatest set of pods; undefined = it never fits. */
function expectedVictims(scene: Scene): readonly Pod[] | undefined {
  const { order } = keptOrder(scene);
  const fixed = scene.pods.filter((pod) => !order.includes(pod));
  const most = 2 ** order.length;
  // The first pod is the highest bit.
  for (let set = most - 1; set >= 0; set--) {
    const isKept = (at: number) => (set & (1 << (order.length - 1 - at))) !== 0;
    const kept = order.filter((_pod, at) => isKept(at));
    if (cpuOf([...fixed, ...kept, scene.incoming]) > scene.cpu) continue;
    return order.filter((_pod, at) => !isKept(at));
  }
  return undefined;
}

const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name).sort();

describe("selectVictims", () => {
  for (let seed = 1; seed <= 10; seed++) {
    it(`evicts a minimal set, and reprieves important pods and budgets first, seed ${seed}`, () => {
      const random = seededRandom(seed);
      for (let at = 0; at < 200; at++) {
        const scene = randomScene(random);
        const { order, violating } = keptOrder(scene);
        const found = select(scene);
        const expected = order.length === 0 ? undefined : expectedVictims(scene);
        if (expected === undefined) {
          assert.ok("code" in found, "victims were found where the pod cannot fit");
          continue;
        }
        assert.ok(!("code" in found));
        assert.deepEqual(names(found.victims), names(expected));
        assert.equal(found.violations, expected.filter((pod) => violating.includes(pod)).length);
        const rest = scene.pods.filter((pod) => !found.victims.includes(pod));
        for (const victim of found.victims) {
          const isNeeded = cpuOf([...rest, victim, scene.incoming]) > scene.cpu;
          assert.ok(isNeeded, `${victim.metadata.name} need not be evicted`);
        }
      }
    });
  }
});

describe("pickCandidate", () => {
  /** Values of a candidate in the order in which they are compared; lower ones are better. */
  function ranks({ violations, victims }: Candidate): readonly number[] {
    const highest = Math.max(...victims.map(priorityOf));
    const sum = victims.reduce((all, pod) => all + priorityOf(pod) + 2 ** 31, 0);
    const starts = victims.filter((pod) => priorityOf(pod) === highest).map(startOf);
    return [violations, highest, sum, victims.length, -Math.min(...starts)];
  }

  function compare(a: readonly number[], b: readonly number[]): number {
    const at = a.findIndex((value, index) => value !== b[index]);
    return at < 0 ? 0 : a[at]! - b[at]!;
  }

  it("prefers nodes without budget violations, then compares priorities and start times", () => {
    const random = seededRandom(1);
    for (let at = 0; at < 500; at++) {
      const candidates = Array.from({ length: 1 + random.below(5) }, (_value, node) => {
        const count = 1 + random.below(3);
        const victims = Array.from({ length: count }, (_each, index) =>
          randomPod(random, `p${node}-${index}`),
        ).sort(byImportance);
        return { node: `n${node}`, victims, violations: random.below(2) };
      });
      const picked = pickCandidate(candidates)!;
      const best = candidates.map(ranks).sort(compare)[0]!;
      assert.deepEqual(ranks(picked), best);
    }
  });
});
