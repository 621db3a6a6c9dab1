import { deepEqual } from "#base";
import { type Labels, labelsOf, namespaceOf, type Node, type Pod } from "#kinds";
import { resolve } from "#meta";
import { actions, type ClusterChange } from "../../framework/cluster-events.ts";
import type { Plugin, SchedulingContext } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { SumsCache } from "../helper/followed-sums.ts";
import { DomainCounts, domainCounts } from "./domain-counts.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PodInfo } from "../../framework/pod-info.ts";
import { skip, type Status, unresolvable, unschedulable } from "../../framework/status.ts";
import {
  concernsSpreading,
  hasAllKeys,
  nodeInclusion,
  type SpreadArgs,
  type SpreadConstraint,
  SpreadConstraints,
} from "./constraints.ts";
import { spreadScorer } from "./score.ts";

const name = "PodTopologySpread";
const tooUneven = unschedulable(name, "node(s) didn't match pod topology spread constraints");
const noLabel = unresolvable(
  name,
  "node(s) didn't match pod topology spread constraints (missing required label)",
);

/** Spread constraints of a pod, with the counts of matching pods. */
class SpreadState {
  constructor(
    readonly constraints: readonly SpreadConstraint[],
    private readonly counts: DomainCounts,
    /** Per constraint, whether the pod matches its own selector. */
    private readonly isOwn: readonly boolean[],
    /** Minimum count per constraint; undefined = not computed yet. */
    private readonly minima: (number | undefined)[] = [],
  ) {}

  /** Rejection of a node with these labels; undefined = the pod fits. */
  rejectionOf(labels: Labels): Status | undefined {
    for (const [at, { topologyKey, maxSkew }] of this.constraints.entries()) {
      const value = Object.hasOwn(labels, topologyKey) ? labels[topologyKey] : undefined;
      if (value === undefined) return noLabel;
      const count = (this.counts.get(at, value) ?? 0) + (this.isOwn[at] === true ? 1 : 0);
      if (count - this.minimum(at) > maxSkew) return tooUneven;
    }
    return undefined;
  }

  /** Minimum number of pods in a domain; 0 if there are fewer than `minDomains`. */
  minimum(at: number): number {
    if (this.counts.size(at) < this.constraints[at]!.minDomains) return 0;
    return (this.minima[at] ??= this.counts.minimum(at));
  }

  add(at: number, value: string, delta: number): void {
    this.counts.addPods(at, value, delta);
    this.minima[at] = undefined;
  }

  copy(): SpreadState {
    return new SpreadState(this.constraints, this.counts.copy(), this.isOwn, [...this.minima]);
  }
}

/** PodTopologySpread: limits the skew of matching pods between topology domains by the pod's constraints. */
export function podTopologySpread(handle: PluginHandle, args: SpreadArgs): Plugin {
  const constraintsOf = new SpreadConstraints(handle, args);
  const cache = new SumsCache<DomainCounts>(handle.snapshot);
  const hostname = resolve("{label}/hostname", handle.domain);
  const update = (
    { state, pod }: SchedulingContext,
    other: PodInfo,
    info: NodeInfo,
    sign: number,
  ) => {
    const spread = state.read<SpreadState>(name);
    if (spread === undefined || namespaceOf(other.pod) !== namespaceOf(pod)) return;
    if (!hasAllKeys(info.labels, spread.constraints)) return;
    const isIncluded = nodeInclusion(pod);
    for (const [at, constraint] of spread.constraints.entries()) {
      const isCounted = constraint.selector.matches(labelsOf(other.pod));
      if (!isCounted || !isIncluded(constraint, info.node!)) continue;
      spread.add(at, info.labels[constraint.topologyKey]!, sign);
    }
  };
  return {
    name,
    preFilter: async ({ state, pod, rest }, nodes) => {
      const constraints = constraintsOf.of(pod, "DoNotSchedule");
      if (constraints.length === 0) return { status: skip };
      const request = domainCounts(pod, constraints, { nodes, requiresAllKeys: true });
      const counts = await cache.of(request, rest);
      const isOwn = constraints.map(({ selector }) => selector.matches(labelsOf(pod)));
      state.write(name, new SpreadState(constraints, counts, isOwn));
      return undefined;
    },
    addPod: (context, other, node) => update(context, other, node, 1),
    removePod: (context, other, node) => update(context, other, node, -1),
    filter: ({ state }, { labels }) => state.read<SpreadState>(name)!.rejectionOf(labels),
    ...spreadScorer({ name, hostname, handle, constraintsOf }),
    events: [
      {
        resource: "Pod",
        action: actions.add | actions.updatePodLabel | actions.updatePodToleration | actions.delete,
        hint: (pod, change) => podMayMatter(constraintsOf.of(pod, "DoNotSchedule"), pod, change),
      },
      {
        resource: "Node",
        action: actions.add | actions.delete | actions.updateNodeLabel | actions.updateNodeTaint,
        hint: (pod, { before, after }) => {
          const constraints = constraintsOf.of(pod, "DoNotSchedule");
          return concernsSpreading(constraints, before as Node, after as Node);
        },
      },
    ],
  };
}

function podMayMatter(
  constraints: readonly SpreadConstraint[],
  pod: Pod,
  { before, after }: ClusterChange,
): boolean {
  const isInvolved = (other: Pod | undefined) =>
    other === undefined ||
    other.metadata.uid === pod.metadata.uid ||
    (!!other.spec?.nodeName && namespaceOf(other) === namespaceOf(pod));
  const [old, now] = [before as Pod | undefined, after as Pod | undefined];
  if (!isInvolved(old) || !isInvolved(now)) return false;
  const one = now ?? old!;
  if (old === undefined || now === undefined) {
    return constraints.some(({ selector }) => selector.matches(labelsOf(one)));
  }
  const isTolerant = !deepEqual(old.spec?.tolerations, now.spec?.tolerations);
  const isOwn = now.metadata.uid === pod.metadata.uid;
  if (isOwn && isTolerant && constraints.some(({ honorsTaints }) => honorsTaints)) return true;
  return constraints.some(
    ({ selector }) => selector.matches(labelsOf(old)) !== selector.matches(labelsOf(now)),
  );
}
