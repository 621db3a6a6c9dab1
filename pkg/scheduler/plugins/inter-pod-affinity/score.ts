import type { Labels, Pod } from "#kinds";
import { maxNodeScore, type Plugin } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { type PodInfo, termMatches, type WeightedAffinityTerm } from "../../framework/pod-info.ts";
import { skip } from "../../framework/status.ts";
import type { AffinityArgs, NamespaceResolver } from "./namespace-resolver.ts";
import { TopologyCounts } from "./topology-counts.ts";

export interface AffinityScorer {
  readonly name: string;
  readonly handle: PluginHandle;
  readonly args: AffinityArgs;
  readonly resolver: NamespaceResolver;
}

/** The pod, with terms resolved to namespaces. */
interface Incoming {
  readonly pod: Pod;
  readonly affinity: readonly WeightedAffinityTerm[];
  readonly antiAffinity: readonly WeightedAffinityTerm[];
  readonly namespaceLabels: Labels;
  readonly hardWeight: number;
}

/** Scores nodes by preferred terms of the pod, and by terms of other pods that match it. */
export function affinityScorer(
  scorer: AffinityScorer,
): Required<Pick<Plugin, "preScore" | "score" | "normalizeScore">> {
  const { name, handle, args } = scorer;
  const key = `score ${name}`;
  return {
    preScore: async ({ state, podInfo, rest }) => {
      const { preferredAffinity, preferredAntiAffinity } = podInfo.terms;
      const hasTerms = preferredAffinity.length + preferredAntiAffinity.length > 0;
      if (args.ignorePreferredTermsOfExistingPods && !hasTerms) return skip;
      const incoming = incomingOf(scorer, podInfo);
      const scores = new TopologyCounts();
      const { snapshot } = handle;
      for (const node of hasTerms ? snapshot.nodes : snapshot.withAffinity) {
        const others = hasTerms ? node.pods : node.podsWithAffinity;
        for (const other of others) addScores(scores, incoming, other, node.labels);
        const pause = rest();
        if (pause !== undefined) await pause;
      }
      if (scores.isEmpty) return skip;
      state.write(key, scores);
      return undefined;
    },
    score: ({ state }, { labels }) => state.read<TopologyCounts>(key)!.sum(labels),
    normalizeScore: (_context, scores) => {
      const least = scores.reduce((min, score) => Math.min(min, score), Infinity);
      const most = scores.reduce((max, score) => Math.max(max, score), -Infinity);
      for (const [at, score] of scores.entries()) {
        const share = most > least ? (score - least) / (most - least) : 0;
        scores[at] = Math.trunc(maxNodeScore * share);
      }
    },
  };
}

function incomingOf({ args, resolver }: AffinityScorer, { pod, terms }: PodInfo): Incoming {
  const resolved = (weighted: readonly WeightedAffinityTerm[]) =>
    weighted.map(({ weight, term }) => ({ weight, term: resolver.resolved([term])[0]! }));
  return {
    pod,
    affinity: resolved(terms.preferredAffinity),
    antiAffinity: resolved(terms.preferredAntiAffinity),
    namespaceLabels: resolver.labelsOf(pod),
    hardWeight: args.hardPodAffinityWeight,
  };
}

function addScores(
  scores: TopologyCounts,
  incoming: Incoming,
  { pod: other, terms }: PodInfo,
  labels: Labels,
): void {
  const { pod, namespaceLabels, hardWeight } = incoming;
  for (const { weight, term } of incoming.affinity) {
    if (termMatches(term, other, undefined)) scores.add(labels, term.topologyKey, weight);
  }
  for (const { weight, term } of incoming.antiAffinity) {
    if (termMatches(term, other, undefined)) scores.add(labels, term.topologyKey, -weight);
  }
  if (hardWeight > 0) {
    for (const term of terms.requiredAffinity) {
      if (!termMatches(term, pod, namespaceLabels)) continue;
      scores.add(labels, term.topologyKey, hardWeight);
    }
  }
  for (const { weight, term } of terms.preferredAffinity) {
    if (termMatches(term, pod, namespaceLabels)) scores.add(labels, term.topologyKey, weight);
  }
  for (const { weight, term } of terms.preferredAntiAffinity) {
    if (termMatches(term, pod, namespaceLabels)) scores.add(labels, term.topologyKey, -weight);
  }
}
