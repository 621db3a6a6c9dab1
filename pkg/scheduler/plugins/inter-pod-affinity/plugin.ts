import { type Labels, labelsOf, type Node, type Pod } from "#kinds";
import { actions, type ClusterChange } from "../../framework/cluster-events.ts";
import type { Plugin, SchedulingContext } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import {
  type AffinityTerm,
  matchesAllTerms,
  type PodInfo,
  podInfoOf,
  termMatches,
} from "../../framework/pod-info.ts";
import { skip, unresolvable, unschedulable } from "../../framework/status.ts";
import { SumsCache, type SumsRequest } from "../helper/followed-sums.ts";
import { type AffinityArgs, matchingKey, NamespaceResolver } from "./namespace-resolver.ts";
import { affinityScorer } from "./score.ts";
import { TopologyCounts } from "./topology-counts.ts";

const name = "InterPodAffinity";
const noAffinity = unresolvable(name, "node(s) didn't match pod affinity rules");
const antiAffinity = unschedulable(name, "node(s) didn't match pod anti-affinity rules");
const existingAntiAffinity = unschedulable(
  name,
  "node(s) didn't satisfy existing pods anti-affinity rules",
);

/** Counts of pods by topology, for required terms. */
interface AffinityCounts {
  /** Existing pods whose required anti-affinity matches the pod. */
  readonly existing: TopologyCounts;
  /** Pods that match all affinity terms of the pod. */
  readonly affinity: TopologyCounts;
  /** Pods that match anti-affinity terms of the pod. */
  readonly antiAffinity: TopologyCounts;
}

interface PodTerms {
  readonly affinity: readonly AffinityTerm[];
  readonly antiAffinity: readonly AffinityTerm[];
  readonly namespaceLabels: Labels;
}

class AffinityState {
  constructor(
    readonly pod: Pod,
    readonly terms: PodTerms,
    readonly counts: AffinityCounts,
  ) {}

  /** Adds (1) or removes (-1) a pod on a node with these labels. */
  count(other: PodInfo, labels: Labels, sign: number): void {
    this.countExisting(other, labels, sign);
    this.countIncoming(other.pod, labels, sign);
  }

  countExisting({ terms }: PodInfo, labels: Labels, sign: number): void {
    for (const term of terms.requiredAntiAffinity) {
      if (!termMatches(term, this.pod, this.terms.namespaceLabels)) continue;
      this.counts.existing.add(labels, term.topologyKey, sign);
    }
  }

  countIncoming(other: Pod, labels: Labels, sign: number): void {
    const { affinity, antiAffinity: anti } = this.terms;
    if (matchesAllTerms(affinity, other)) {
      for (const term of affinity) this.counts.affinity.add(labels, term.topologyKey, sign);
    }
    for (const term of anti) {
      if (!termMatches(term, other, undefined)) continue;
      this.counts.antiAffinity.add(labels, term.topologyKey, sign);
    }
  }

  countNode(node: NodeInfo, sign: number, hasTerms: boolean): void {
    const { labels } = node;
    for (const other of node.podsWithRequiredAntiAffinity) this.countExisting(other, labels, sign);
    if (!hasTerms) return;
    for (const { pod } of node.pods) this.countIncoming(pod, labels, sign);
  }

  /** Whether required affinity is satisfied; the first pod of a group with affinity to itself always fits. */
  hasAffinity(labels: Labels): boolean {
    const { affinity } = this.terms;
    let isMet = true;
    for (const { topologyKey } of affinity) {
      if (!Object.hasOwn(labels, topologyKey)) return false;
      if (this.counts.affinity.get(topologyKey, labels[topologyKey]!) <= 0) isMet = false;
    }
    return isMet || (this.counts.affinity.isEmpty && matchesAllTerms(affinity, this.pod));
  }

  copy(): AffinityState {
    const { existing, affinity, antiAffinity: anti } = this.counts;
    return new AffinityState(this.pod, this.terms, {
      existing: existing.copy(),
      affinity: affinity.copy(),
      antiAffinity: anti.copy(),
    });
  }
}

function noCounts(): AffinityCounts {
  return {
    existing: new TopologyCounts(),
    affinity: new TopologyCounts(),
    antiAffinity: new TopologyCounts(),
  };
}

/** InterPodAffinity: required and preferred pod affinity and anti-affinity. */
export function interPodAffinity(handle: PluginHandle, args: AffinityArgs): Plugin {
  const resolver = new NamespaceResolver(handle);
  const cache = new SumsCache<AffinityState>(handle.snapshot);
  const update = ({ state }: SchedulingContext, other: PodInfo, node: NodeInfo, sign: number) =>
    state.read<AffinityState>(name)?.count(other, node.labels, sign);
  return {
    name,
    preFilter: async ({ state, pod, podInfo, rest }, nodes) => {
      const { requiredAffinity, requiredAntiAffinity } = podInfo.terms;
      const hasTerms = requiredAffinity.length + requiredAntiAffinity.length > 0;
      const { withRequiredAntiAffinity: repelling } = handle.snapshot;
      if (!hasTerms && repelling.length === 0) return { status: skip };
      const terms: PodTerms = {
        affinity: resolver.resolved(requiredAffinity),
        antiAffinity: resolver.resolved(requiredAntiAffinity),
        namespaceLabels: resolver.labelsOf(pod),
      };
      const all = [...terms.affinity, ...terms.antiAffinity];
      const request: SumsRequest<AffinityState> = {
        key: matchingKey(pod, all, terms.namespaceLabels),
        nodes: hasTerms ? nodes : repelling,
        empty: () => new AffinityState(pod, terms, noCounts()),
        count: (sums, node, sign) => sums.countNode(node, sign, hasTerms),
      };
      const made = await cache.of(request, rest);
      if (!hasTerms && made.counts.existing.isEmpty) return { status: skip };
      state.write(name, made);
      return undefined;
    },
    addPod: (context, other, node) => update(context, other, node, 1),
    removePod: (context, other, node) => update(context, other, node, -1),
    filter: ({ state }, { labels }) => {
      const found = state.read<AffinityState>(name)!;
      if (!found.hasAffinity(labels)) return noAffinity;
      const { counts } = found;
      if (counts.antiAffinity.hasAny(labels)) return antiAffinity;
      return counts.existing.hasAny(labels) ? existingAntiAffinity : undefined;
    },
    ...affinityScorer({ name, handle, args, resolver }),
    events: [
      {
        resource: "Pod",
        action: actions.add | actions.updatePodLabel | actions.delete,
        hint: (pod, change) => podMayMatter(podInfoOf(pod), change),
      },
      {
        resource: "Node",
        action: actions.add | actions.updateNodeLabel,
        hint: (pod, { before, after }) =>
          nodeMayMatter(podInfoOf(pod), before as Node | undefined, after as Node),
      },
    ],
  };
}

function podMayMatter({ terms, pod }: PodInfo, { before, after }: ClusterChange): boolean {
  const [old, now] = [before as Pod | undefined, after as Pod | undefined];
  // After a label change, anti-affinity of existing pods may no longer match the pod.
  if (now?.metadata.uid === pod.metadata.uid) return true;
  if ([old, now].some((each) => each !== undefined && !each.spec?.nodeName)) return false;
  const affinity = (other: Pod) => matchesAllTerms(terms.requiredAffinity, other);
  const anti = (other: Pod) => matchesAllTerms(terms.requiredAntiAffinity, other);
  if (old !== undefined && now !== undefined) {
    return (!affinity(old) && affinity(now)) || (anti(old) && !anti(now));
  }
  if (now !== undefined) return affinity(now);
  // Anti-affinity of the deleted pod may have rejected this one.
  const others = podInfoOf(old!).terms.requiredAntiAffinity;
  return anti(old!) || others.length > 0;
}

function nodeMayMatter({ terms }: PodInfo, before: Node | undefined, after: Node): boolean {
  const { requiredAffinity, requiredAntiAffinity } = terms;
  const all = [...requiredAffinity, ...requiredAntiAffinity];
  if (before === undefined) return true;
  return (
    all.length === 0 ||
    all.some(({ topologyKey }) => labelsOf(before)[topologyKey] !== labelsOf(after)[topologyKey])
  );
}
