import { deepEqual } from "#base";
import { labelsOf, namespaceOf, type Node, type Pod } from "#kinds";
import { resolve } from "#meta";
import { actions, type ClusterChange } from "../../framework/cluster-events.ts";
import type { Plugin, SchedulingContext } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PodInfo } from "../../framework/pod-info.ts";
import { skip, unresolvable, unschedulable } from "../../framework/status.ts";
import {
  concernsSpreading,
  countMatching,
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

/** Number of matching pods by topology value, for each constraint. */
class SpreadState {
  constructor(
    readonly constraints: readonly SpreadConstraint[],
    readonly counts: readonly Map<string, number>[],
    /** Smallest count of each constraint; undefined = to be computed. */
    private readonly minima: (number | undefined)[],
  ) {}

  /** The smallest number of pods in a domain; 0 with fewer domains than required. */
  minimum(at: number): number {
    const counts = this.counts[at]!;
    if (counts.size < this.constraints[at]!.minDomains) return 0;
    const known = this.minima[at];
    if (known !== undefined) return known;
    let smallest = Infinity;
    for (const count of counts.values()) smallest = Math.min(smallest, count);
    return (this.minima[at] = smallest);
  }

  add(at: number, value: string, delta: number): void {
    const counts = this.counts[at]!;
    counts.set(value, (counts.get(value) ?? 0) + delta);
    this.minima[at] = undefined;
  }

  copy(): SpreadState {
    const counts = this.counts.map((each) => new Map(each));
    return new SpreadState(this.constraints, counts, [...this.minima]);
  }
}

/** Keeps the numbers of matching pods in topology domains within the constraints of the pod. */
export function podTopologySpread(handle: PluginHandle, args: SpreadArgs): Plugin {
  const constraintsOf = new SpreadConstraints(handle, args);
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
      state.write(name, await countPods(pod, constraints, { nodes, rest }));
      return undefined;
    },
    addPod: (context, other, node) => update(context, other, node, 1),
    removePod: (context, other, node) => update(context, other, node, -1),
    filter: ({ state, pod }, { labels }) => {
      const spread = state.read<SpreadState>(name)!;
      for (const [at, { topologyKey, selector, maxSkew }] of spread.constraints.entries()) {
        const value = Object.hasOwn(labels, topologyKey) ? labels[topologyKey] : undefined;
        if (value === undefined) return noLabel;
        const own = selector.matches(labelsOf(pod)) ? 1 : 0;
        const count = spread.counts[at]!.get(value) ?? 0;
        if (count + own - spread.minimum(at) > maxSkew) return tooUneven;
      }
      return undefined;
    },
    ...spreadScorer({ name, hostname, handle, constraintsOf }),
    events: [
      {
        resource: "Pod",
        action: actions.add | actions.podLabel | actions.podToleration | actions.delete,
        hint: (pod, change) => podMayMatter(constraintsOf.of(pod, "DoNotSchedule"), pod, change),
      },
      {
        resource: "Node",
        action: actions.add | actions.delete | actions.nodeLabel | actions.nodeTaint,
        hint: (pod, { before, after }) => {
          const constraints = constraintsOf.of(pod, "DoNotSchedule");
          return concernsSpreading(constraints, before as Node, after as Node);
        },
      },
    ],
  };
}

async function countPods(
  pod: Pod,
  constraints: readonly SpreadConstraint[],
  { nodes, rest }: { readonly nodes: readonly NodeInfo[] } & Pick<SchedulingContext, "rest">,
): Promise<SpreadState> {
  const counts = constraints.map(() => new Map<string, number>());
  const isIncluded = nodeInclusion(pod);
  for (const node of nodes) {
    if (!hasAllKeys(node.labels, constraints)) continue;
    for (const [at, constraint] of constraints.entries()) {
      if (!isIncluded(constraint, node.node!)) continue;
      const value = node.labels[constraint.topologyKey]!;
      const count = countMatching(node, constraint.selector, namespaceOf(pod));
      counts[at]!.set(value, (counts[at]!.get(value) ?? 0) + count);
    }
    const pause = rest();
    if (pause !== undefined) await pause;
  }
  const minima = constraints.map(() => undefined);
  return new SpreadState(constraints, counts, minima);
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
