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
  /** Score (0 to 10) by ascending utilization in percent; linearly interpolated. */
  readonly shape: readonly { readonly utilization: number; readonly score: number }[];
}

/**
 * Allocatable amount of a resource; undefined = irrelevant for the pod. Hot path: allocates no objects.
 */
function allocatableOf(node: NodeInfo, info: PodInfo, name: string): number | undefined {
  const { allocatable } = node;
  switch (name) {
    case "cpu":
      return allocatable.milliCpu;
    case "memory":
      return allocatable.memory;
    case "ephemeral-storage":
      return allocatable.ephemeralStorage;
    default: {
      const own = info.requests.scalars.get(name) ?? 0;
      if (own === 0 && isScalarResource(name)) return undefined;
      return allocatable.scalars.get(name) ?? 0;
    }
  }
}

/** Requested amount including the pod. `isPlain` = containers without a request count as 0. */
function requestedOf(node: NodeInfo, info: PodInfo, name: string, isPlain: boolean): number {
  const { requested } = node;
  const { requests } = info;
  switch (name) {
    case "cpu":
      return isPlain
        ? requested.milliCpu + requests.milliCpu
        : node.nonZeroMilliCpu + info.nonZeroMilliCpu;
    case "memory":
      return isPlain ? requested.memory + requests.memory : node.nonZeroMemory + info.nonZeroMemory;
    case "ephemeral-storage":
      return requested.ephemeralStorage + requests.ephemeralStorage;
    default:
      return (requested.scalars.get(name) ?? 0) + (requests.scalars.get(name) ?? 0);
  }
}

/** Score function of a scoring strategy, 0 to 100. */
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
      const allocatable = allocatableOf(node, info, name);
      if (allocatable === undefined || allocatable === 0) continue;
      const score = scoreOf(requestedOf(node, info, name, false), allocatable);
      // RequestedToCapacityRatio ignores resources with score 0.
      if (isRatio && score <= 0) continue;
      sum += score * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return isRatio ? Math.round(sum / weights) : Math.trunc(sum / weights);
  };
}

const scorers = {
  LeastAllocated: (requested: number, allocatable: number) =>
    requested > allocatable
      ? 0
      : Math.trunc(((allocatable - requested) * maxNodeScore) / allocatable),
  MostAllocated: (requested: number, allocatable: number) =>
    Math.trunc((Math.min(requested, allocatable) * maxNodeScore) / allocatable),
} as const;

/** Scales scores of shapes, which are at most 10. */
const shapeFactor = maxNodeScore / 10;

function ratioScorer(
  shape: ScoringStrategy["shape"],
): (requested: number, allocatable: number) => number {
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
  return (requested, allocatable) =>
    valueAt(requested > allocatable ? 100 : Math.trunc((requested * 100) / allocatable));
}

/** Balanced allocation score: 100 * (1 - standard deviation of the used fractions). */
export function balanceScore(
  node: NodeInfo,
  info: PodInfo,
  resources: readonly ResourceSpec[],
): number {
  // Fast path of the default, two resources: no array.
  if (resources.length === 2) {
    const [first, second] = resources as readonly [ResourceSpec, ResourceSpec];
    const left = fractionOf(node, info, first.name);
    const right = fractionOf(node, info, second.name);
    const half = left === undefined || right === undefined ? 0 : Math.abs((left - right) / 2);
    return Math.trunc((1 - half) * maxNodeScore);
  }
  const fractions = resources.flatMap(({ name }) => fractionOf(node, info, name) ?? []);
  return Math.trunc((1 - deviation(fractions)) * maxNodeScore);
}

/** Used fraction of a resource, at most 1; undefined = irrelevant for the pod. */
function fractionOf(node: NodeInfo, info: PodInfo, name: string): number | undefined {
  const allocatable = allocatableOf(node, info, name);
  if (allocatable === undefined || allocatable === 0) return undefined;
  return Math.min(requestedOf(node, info, name, true) / allocatable, 1);
}

function deviation(fractions: readonly number[]): number {
  if (fractions.length < 2) return 0;
  if (fractions.length === 2) return Math.abs((fractions[0]! - fractions[1]!) / 2);
  const mean = fractions.reduce((sum, each) => sum + each, 0) / fractions.length;
  const squares = fractions.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return Math.sqrt(squares / fractions.length);
}
