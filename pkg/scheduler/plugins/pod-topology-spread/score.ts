import { namespaceOf } from "#kinds";
import { maxNodeScore, type Plugin } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { skip } from "../../framework/status.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { SumsCache } from "../helper/followed-sums.ts";
import { DomainCounts, domainCounts } from "./domain-counts.ts";
import {
  countMatching,
  hasAllKeys,
  type SpreadConstraint,
  type SpreadConstraints,
} from "./constraints.ts";

export interface SpreadScorer {
  readonly name: string;
  /** Label key `hostname`, for which pods are counted per node. */
  readonly hostname: string;
  readonly handle: PluginHandle;
  readonly constraintsOf: SpreadConstraints;
}

const noCounts = new DomainCounts([]);

interface ScoreState {
  readonly constraints: readonly SpreadConstraint[];
  readonly ignored: ReadonlySet<string>;
  readonly counts: DomainCounts;
  readonly weights: readonly number[];
}

/** Prefers domains with fewer matching pods, by the ScheduleAnyway constraints of the pod. */
export function spreadScorer(
  scorer: SpreadScorer,
): Required<Pick<Plugin, "preScore" | "score" | "normalizeScore">> {
  const key = `score ${scorer.name}`;
  const { hostname, handle, constraintsOf } = scorer;
  const cache = new SumsCache<DomainCounts>(handle.snapshot);
  return {
    preScore: async ({ state, pod, rest }, nodes) => {
      const constraints = constraintsOf.of(pod, "ScheduleAnyway");
      if (constraints.length === 0) return skip;
      const requiresAllKeys = constraintsOf.requiresAllKeys(pod);
      // For `hostname` pods are counted when the node is scored.
      const counted = constraints.map(({ topologyKey }) => topologyKey !== hostname);
      const all = { nodes: handle.snapshot.nodes, requiresAllKeys, counted };
      const counts = counted.includes(true)
        ? await cache.of(domainCounts(pod, constraints, all), rest)
        : noCounts;
      const weighed = weights(constraints, nodes, { hostname, requiresAllKeys });
      state.write(key, { constraints, counts, ...weighed } satisfies ScoreState);
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
            : (counts.get(at, node.labels[topologyKey]!) ?? 0);
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

/** Weights of constraints by their number of domains, and the nodes excluded from scoring. */
function weights(
  constraints: readonly SpreadConstraint[],
  nodes: readonly NodeInfo[],
  { hostname, requiresAllKeys }: { readonly hostname: string; readonly requiresAllKeys: boolean },
): Pick<ScoreState, "weights" | "ignored"> {
  const ignored = new Set<string>();
  const domains = constraints.map(() => new Set<string>());
  for (const { name, labels } of nodes) {
    if (requiresAllKeys && !hasAllKeys(labels, constraints)) {
      ignored.add(name);
      continue;
    }
    for (const [at, { topologyKey }] of constraints.entries()) {
      if (topologyKey !== hostname) domains[at]!.add(labels[topologyKey] ?? "");
    }
  }
  const weighed = constraints.map(({ topologyKey }, at) => {
    const isHost = topologyKey === hostname;
    return Math.log((isHost ? nodes.length - ignored.size : domains[at]!.size) + 2);
  });
  return { ignored, weights: weighed };
}
