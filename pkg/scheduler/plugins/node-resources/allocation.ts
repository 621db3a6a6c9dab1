import { maxNodeScore } from "../../framework/contract.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PodInfo } from "../../framework/pod-info.ts";
import { isScalarResource } from "../../framework/resources.ts";

export interface ResourceSpec {
  readonly name: string;
  readonly weight: number;
}

export interface ScoringStrategy {
  readonly type: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  readonly resources: readonly ResourceSpec[];
  /** Scores (0 to 10) by utilization in percent, ascending; linear in between. */
  readonly shape: readonly { readonly utilization: number; readonly score: number }[];
}

interface Allocation {
  readonly allocatable: number;
  /** With the pod. */
  readonly requested: number;
}

/**
 * Allocation of a resource if the pod were on the node; undefined where it does not count.
 * `isPlain` = containers without a request count as 0.
 */
function allocationOf(
  node: NodeInfo,
  info: PodInfo,
  name: string,
  isPlain: boolean,
): Allocation | undefined {
  const { allocatable, requested } = node;
  if (name === "cpu") {
    const sum = isPlain
      ? requested.milliCpu + info.requests.milliCpu
      : node.nonZeroMilliCpu + info.nonZeroMilliCpu;
    return { allocatable: allocatable.milliCpu, requested: sum };
  }
  if (name === "memory") {
    const sum = isPlain
      ? requested.memory + info.requests.memory
      : node.nonZeroMemory + info.nonZeroMemory;
    return { allocatable: allocatable.memory, requested: sum };
  }
  if (name === "ephemeral-storage") {
    const sum = requested.ephemeralStorage + info.requests.ephemeralStorage;
    return { allocatable: allocatable.ephemeralStorage, requested: sum };
  }
  const own = info.requests.scalars.get(name) ?? 0;
  if (own === 0 && isScalarResource(name)) return undefined;
  const sum = (requested.scalars.get(name) ?? 0) + own;
  return { allocatable: allocatable.scalars.get(name) ?? 0, requested: sum };
}

/** Score of a node, 0 to 100, by the strategy. */
export function strategyScorer(
  strategy: ScoringStrategy,
): (node: NodeInfo, info: PodInfo) => number {
  const { type, resources } = strategy;
  const isRatio = type === "RequestedToCapacityRatio";
  const scoreOf = isRatio ? ratioScorer(strategy.shape) : scorers[type];
  return (node, info) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      const allocation = allocationOf(node, info, name, false);
      if (allocation === undefined || allocation.allocatable === 0) continue;
      const score = scoreOf(allocation);
      // A ratio of 0 has no weight.
      if (isRatio && score <= 0) continue;
      sum += score * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return isRatio ? Math.round(sum / weights) : Math.trunc(sum / weights);
  };
}

const scorers = {
  LeastAllocated: ({ allocatable, requested }: Allocation) =>
    requested > allocatable
      ? 0
      : Math.trunc(((allocatable - requested) * maxNodeScore) / allocatable),
  MostAllocated: ({ allocatable, requested }: Allocation) =>
    Math.trunc((Math.min(requested, allocatable) * maxNodeScore) / allocatable),
} as const;

/** Scores of shapes go up to 10. */
const shapeFactor = maxNodeScore / 10;

function ratioScorer(shape: ScoringStrategy["shape"]): (allocation: Allocation) => number {
  const points = shape.map(({ utilization, score }) => ({
    x: utilization,
    y: score * shapeFactor,
  }));
  const valueAt = (x: number): number => {
    for (const [at, point] of points.entries()) {
      if (x > point.x) continue;
      const before = points[at - 1];
      if (before === undefined) return point.y;
      return before.y + Math.trunc(((point.y - before.y) * (x - before.x)) / (point.x - before.x));
    }
    return points.at(-1)?.y ?? 0;
  };
  return ({ allocatable, requested }) =>
    valueAt(requested > allocatable ? 100 : Math.trunc((requested * 100) / allocatable));
}

/** Score of a node by how evenly its resources are used: 100 times one minus the deviation. */
export function balanceScore(
  node: NodeInfo,
  info: PodInfo,
  resources: readonly ResourceSpec[],
): number {
  const fractions: number[] = [];
  for (const { name } of resources) {
    const allocation = allocationOf(node, info, name, true);
    if (allocation === undefined || allocation.allocatable === 0) continue;
    fractions.push(Math.min(allocation.requested / allocation.allocatable, 1));
  }
  return Math.trunc((1 - deviation(fractions)) * maxNodeScore);
}

function deviation(fractions: readonly number[]): number {
  if (fractions.length < 2) return 0;
  if (fractions.length === 2) return Math.abs((fractions[0]! - fractions[1]!) / 2);
  const mean = fractions.reduce((sum, each) => sum + each, 0) / fractions.length;
  const squares = fractions.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return Math.sqrt(squares / fractions.length);
}
