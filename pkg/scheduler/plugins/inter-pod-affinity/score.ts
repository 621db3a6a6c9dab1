import type { Labels, Pod } from "#kinds";
import { maxNodeScore, type Plugin } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import {
  type AffinityTerm,
  type PodInfo,
  termMatches,
  type WeightedAffinityTerm,
} from "../../framework/pod-info.ts";
import { skip } from "../../framework/status.ts";
import { SumsCache, type SumsRequest } from "../helper/followed-sums.ts";
import { type AffinityArgs, matchingKey, type NamespaceResolver } from "./namespace-resolver.ts";
import { TopologyCounts } from "./topology-counts.ts";

export interface AffinityScorer {
  readonly name: string;
  readonly handle: PluginHandle;
  readonly args: AffinityArgs;
  readonly resolver: NamespaceResolver;
}

/** The pod to schedule, with resolved namespaces of its terms. */
interface Incoming {
  readonly pod: Pod;
  readonly affinity: readonly WeightedAffinityTerm[];
  readonly antiAffinity: readonly WeightedAffinityTerm[];
  readonly namespaceLabels: Labels;
  readonly hardWeight: number;
}

/** Scores nodes by the pod's preferred terms, and by terms of existing pods that match it. */
export function affinityScorer(
  scorer: AffinityScorer,
): Required<Pick<Plugin, "preScore" | "score" | "normalizeScore">> {
  const { name, handle, args } = scorer;
  const key = `score ${name}`;
  const cache = new SumsCache<TopologyCounts>(handle.snapshot);
  return {
    preScore: async ({ state, podInfo, rest }) => {
      const { preferredAffinity, preferredAntiAffinity } = podInfo.terms;
      const hasTerms = preferredAffinity.length + preferredAntiAffinity.length > 0;
      if (args.ignorePreferredTermsOfExistingPods && !hasTerms) return skip;
      const { snapshot } = handle;
      const nodes = hasTerms ? snapshot.nodes : snapshot.withAffinity;
      if (nodes.length === 0) return skip;
      const incoming = incomingOf(scorer, podInfo);
      const terms = [...incoming.affinity, ...incoming.antiAffinity].map(({ term }) => term);
      const request: SumsRequest<TopologyCounts> = {
        key: matchingKey(podInfo.pod, terms, incoming.namespaceLabels),
        nodes,
        empty: () => new TopologyCounts(),
        count: (sums, node, sign) => {
          const others = hasTerms ? node.pods : node.podsWithAffinity;
          for (const other of others) addScores(sums, incoming, other, { node, sign });
        },
      };
      const scores = await cache.of(request, rest);
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
  { node, sign }: { readonly node: NodeInfo; readonly sign: 1 | -1 },
): void {
  const { pod, namespaceLabels, hardWeight } = incoming;
  const { labels } = node;
  const add = ({ topologyKey }: AffinityTerm, weight: number) =>
    scores.add(labels, topologyKey, sign * weight);
  for (const { weight, term } of incoming.affinity) {
    if (termMatches(term, other, undefined)) add(term, weight);
  }
  for (const { weight, term } of incoming.antiAffinity) {
    if (termMatches(term, other, undefined)) add(term, -weight);
  }
  if (hardWeight > 0) {
    for (const term of terms.requiredAffinity) {
      if (termMatches(term, pod, namespaceLabels)) add(term, hardWeight);
    }
  }
  for (const { weight, term } of terms.preferredAffinity) {
    if (termMatches(term, pod, namespaceLabels)) add(term, weight);
  }
  for (const { weight, term } of terms.preferredAntiAffinity) {
    if (termMatches(term, pod, namespaceLabels)) add(term, -weight);
  }
}
