import { namespaceOf, type Pod } from "#kinds";
import { maxNodeScore, type Plugin, type SchedulingContext } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { skip } from "../../framework/status.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import {
  countMatching,
  hasAllKeys,
  nodeInclusion,
  type SpreadConstraint,
  type SpreadConstraints,
} from "./constraints.ts";

export interface SpreadScorer {
  readonly name: string;
  /** Label key of host names, whose pods are counted per node. */
  readonly hostname: string;
  readonly handle: PluginHandle;
  readonly constraintsOf: SpreadConstraints;
}

interface ScoreState {
  readonly constraints: readonly SpreadConstraint[];
  readonly ignored: ReadonlySet<string>;
  readonly counts: readonly Map<string, number>[];
  readonly weights: readonly number[];
}

/** Prefers domains with fewer matching pods, by the soft constraints of the pod. */
export function spreadScorer(
  scorer: SpreadScorer,
): Required<Pick<Plugin, "preScore" | "score" | "normalizeScore">> {
  const key = `score ${scorer.name}`;
  const { hostname, handle, constraintsOf } = scorer;
  return {
    preScore: async ({ state, pod, rest }, nodes) => {
      const constraints = constraintsOf.of(pod, "ScheduleAnyway");
      if (constraints.length === 0) return skip;
      const made = emptyState(constraints, nodes, {
        hostname,
        requiresAllKeys: constraintsOf.requiresAllKeys(pod),
      });
      await countPods(made, pod, {
        nodes: handle.snapshot.nodes,
        rest,
        requiresAllKeys: constraintsOf.requiresAllKeys(pod),
      });
      state.write(key, made);
      return undefined;
    },
    score: ({ state, pod }, node) => {
      const { constraints, ignored, counts, weights } = state.read<ScoreState>(key)!;
      if (ignored.has(node.name)) return 0;
      let score = 0;
      for (const [at, { topologyKey, selector, maxSkew }] of constraints.entries()) {
        if (!Object.hasOwn(node.labels, topologyKey)) continue;
        const count =
          topologyKey === hostname
            ? countMatching(node, selector, namespaceOf(pod))
            : (counts[at]!.get(node.labels[topologyKey]!) ?? 0);
        score += count * weights[at]! + maxSkew - 1;
      }
      return Math.round(score);
    },
    normalizeScore: ({ state }, scores, nodes) => {
      const { ignored } = state.read<ScoreState>(key)!;
      const isScored = nodes.map(({ name }) => !ignored.has(name));
      const counted = scores.filter((_score, at) => isScored[at]);
      const least = counted.reduce((min, score) => Math.min(min, score), Infinity);
      const most = counted.reduce((max, score) => Math.max(max, score), 0);
      for (const [at, score] of scores.entries()) {
        if (isScored[at] !== true) scores[at] = 0;
        else if (most === 0) scores[at] = maxNodeScore;
        else scores[at] = Math.trunc((maxNodeScore * (most + least - score)) / most);
      }
    },
  };
}

function emptyState(
  constraints: readonly SpreadConstraint[],
  nodes: readonly NodeInfo[],
  { hostname, requiresAllKeys }: { readonly hostname: string; readonly requiresAllKeys: boolean },
): ScoreState {
  const ignored = new Set<string>();
  const counts = constraints.map(() => new Map<string, number>());
  for (const { name, labels } of nodes) {
    if (requiresAllKeys && !hasAllKeys(labels, constraints)) {
      ignored.add(name);
      continue;
    }
    for (const [at, { topologyKey }] of constraints.entries()) {
      if (topologyKey !== hostname) counts[at]!.set(labels[topologyKey] ?? "", 0);
    }
  }
  const weights = constraints.map(({ topologyKey }, at) => {
    const domains = topologyKey === hostname ? nodes.length - ignored.size : counts[at]!.size;
    return Math.log(domains + 2);
  });
  return { constraints, ignored, counts, weights };
}

interface CountedNodes extends Pick<SchedulingContext, "rest"> {
  readonly nodes: readonly NodeInfo[];
  readonly requiresAllKeys: boolean;
}

async function countPods(
  { constraints, counts }: ScoreState,
  pod: Pod,
  all: CountedNodes,
): Promise<void> {
  // Host names are counted per node when it is scored.
  if (counts.every(({ size }) => size === 0)) return;
  const isIncluded = nodeInclusion(pod);
  for (const node of all.nodes) {
    if (all.requiresAllKeys && !hasAllKeys(node.labels, constraints)) continue;
    for (const [at, constraint] of constraints.entries()) {
      const value = node.labels[constraint.topologyKey] ?? "";
      const count = counts[at]!.get(value);
      if (count === undefined || !isIncluded(constraint, node.node!)) continue;
      counts[at]!.set(value, count + countMatching(node, constraint.selector, namespaceOf(pod)));
    }
    const pause = all.rest();
    if (pause !== undefined) await pause;
  }
}
