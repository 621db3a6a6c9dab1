import { type ApiObject, objectKey } from "#client";
import { deepEqual, printJson } from "#base";
import {
  type Labels,
  labelsOf,
  namespaceOf,
  type Node,
  type Pod,
  replicaSets,
  replicationControllers,
  services,
  statefulSets,
  type TopologySpreadConstraint,
  requiredNodeAffinity,
  untoleratedTaint,
} from "#kinds";
import { type LabelSelector, resolve } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { type Selector, selectorOf } from "../../framework/pod-info.ts";

/** A topology spread constraint of one pod, with its parsed selector. */
export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: Selector;
  readonly minDomains: number;
  readonly honorsAffinity: boolean;
  readonly honorsTaints: boolean;
  /** Key; equal for constraints that count the same pods in the same domains. */
  readonly identity: string;
}

export interface SpreadArgs {
  readonly defaultConstraints: readonly TopologySpreadConstraint[];
  /** `System` = built-in ScheduleAnyway constraints for hosts and zones. */
  readonly defaultingType: "List" | "System";
}

/** Spread constraints of pods, with defaults for pods without any. */
export class SpreadConstraints {
  private readonly defaults: readonly TopologySpreadConstraint[];

  constructor(
    private readonly handle: PluginHandle,
    private readonly args: SpreadArgs,
  ) {
    const { domain, informers } = handle;
    const soft = { whenUnsatisfiable: "ScheduleAnyway" };
    this.defaults =
      args.defaultingType === "List"
        ? args.defaultConstraints
        : [
            { ...soft, topologyKey: resolve("{label}/hostname", domain), maxSkew: 3 },
            { ...soft, topologyKey: resolve("topology.{label}/zone", domain), maxSkew: 5 },
          ];
    if (this.defaults.length === 0) return;
    informers.of(services).addIndex("namespace", (object) => [namespaceOf(object)]);
    for (const each of [replicationControllers, replicaSets, statefulSets]) {
      informers.of<ApiObject>(each);
    }
  }

  /** Whether nodes that lack any of the topology keys are excluded from scoring. */
  requiresAllKeys({ spec }: Pod): boolean {
    const own = spec?.topologySpreadConstraints ?? [];
    return own.length > 0 || this.args.defaultingType === "List";
  }

  of(pod: Pod, whenUnsatisfiable: string): readonly SpreadConstraint[] {
    const own = pod.spec?.topologySpreadConstraints ?? [];
    const wanted = (all: readonly TopologySpreadConstraint[]) =>
      all.filter((each) => each.whenUnsatisfiable === whenUnsatisfiable);
    if (own.length > 0) return wanted(own).map((each) => parsed(each, labelsOf(pod)));
    const defaults = wanted(this.defaults);
    if (defaults.length === 0) return [];
    const { selector, identity } = this.defaultSelector(pod);
    if (selector.empty) return [];
    return defaults.map((each) => {
      const made = parsed(each, labelsOf(pod));
      return { ...made, selector, identity: `${made.identity} ${identity}` };
    });
  }

  /** Selector of the pods of the same Services and workload. */
  private defaultSelector(pod: Pod): {
    readonly selector: Selector;
    readonly identity: string;
  } {
    const { informers } = this.handle;
    const labels: Record<string, string> = {};
    const selectors: LabelSelector[] = [];
    const inNamespace = informers.of(services).indexed("namespace", namespaceOf(pod));
    for (const { spec } of inNamespace) {
      const selector = spec?.selector;
      if (selector !== undefined && isSubset(selector, labelsOf(pod))) {
        Object.assign(labels, selector);
      }
    }
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const key = objectKey({
      metadata: { ...pod.metadata, name: owner?.name ?? "" },
    });
    if (owner?.kind === "ReplicationController") {
      const found = informers.of(replicationControllers).get(key);
      Object.assign(labels, found?.spec?.selector);
    } else if (owner?.kind === "ReplicaSet" || owner?.kind === "StatefulSet") {
      const isApps = owner.apiVersion.startsWith("apps/");
      const informer = informers.of(owner.kind === "ReplicaSet" ? replicaSets : statefulSets);
      const selector = isApps ? informer.get(key)?.spec?.selector : undefined;
      if (selector !== undefined) selectors.push(selector);
    }
    if (Object.keys(labels).length > 0) selectors.push({ matchLabels: labels });
    const parts = selectors.map((each) => selectorOf(each));
    const selector: Selector = {
      empty: parts.every(({ empty }) => empty),
      matches: (others) => parts.every((each) => each.matches(others)),
    };
    return { selector, identity: printJson(selectors) };
  }
}

function isSubset(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

function parsed(constraint: TopologySpreadConstraint, labels: Labels): SpreadConstraint {
  const { maxSkew, topologyKey, labelSelector, matchLabelKeys = [] } = constraint;
  const own = matchLabelKeys.filter((key) => Object.hasOwn(labels, key));
  const base = selectorOf(labelSelector);
  const merged = selectorOf({
    matchLabels: Object.fromEntries(own.map((key) => [key, labels[key]!])),
  });
  const selector: Selector =
    own.length === 0
      ? base
      : { empty: false, matches: (others) => base.matches(others) && merged.matches(others) };
  const honorsAffinity = (constraint.nodeAffinityPolicy ?? "Honor") === "Honor";
  const honorsTaints = constraint.nodeTaintsPolicy === "Honor";
  const values = own.map((key) => [key, labels[key]]);
  return {
    maxSkew,
    topologyKey,
    selector,
    minDomains: constraint.minDomains ?? 1,
    honorsAffinity,
    honorsTaints,
    identity: printJson([topologyKey, labelSelector, values, honorsAffinity, honorsTaints]),
  };
}

/** Key; equal if the same pods on the same nodes count. */
export function countingKey(pod: Pod, constraints: readonly SpreadConstraint[]): string {
  const { nodeSelector, affinity, tolerations } = pod.spec ?? {};
  return printJson([
    namespaceOf(pod),
    constraints.map(({ identity }) => identity),
    nodeSelector,
    affinity?.nodeAffinity,
    constraints.some(({ honorsTaints }) => honorsTaints) ? tolerations : [],
  ]);
}

export function hasAllKeys(labels: Labels, constraints: readonly SpreadConstraint[]): boolean {
  return constraints.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey));
}

/** Predicate by `nodeAffinityPolicy` and `nodeTaintsPolicy`: whether a node counts for a constraint. */
export function nodeInclusion(pod: Pod): (constraint: SpreadConstraint, node: Node) => boolean {
  const matches = requiredNodeAffinity(pod);
  return ({ honorsAffinity, honorsTaints }, node) =>
    (!honorsAffinity || matches(node)) &&
    (!honorsTaints || untoleratedTaint(pod, node) === undefined);
}

/** Number of matching, non-terminating pods of a namespace on the node. */
export function countMatching(node: NodeInfo, selector: Selector, namespace: string): number {
  if (selector.empty) return 0;
  let count = 0;
  for (const { pod } of node.pods) {
    const { deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined || namespaceOf(pod) !== namespace) continue;
    if (selector.matches(labelsOf(pod))) count++;
  }
  return count;
}

/** Whether a change of a node's labels or taints may affect spreading. */
export function concernsSpreading(
  constraints: readonly SpreadConstraint[],
  before: Node | undefined,
  after: Node | undefined,
): boolean {
  const matches = (node: Node | undefined) =>
    node !== undefined && hasAllKeys(labelsOf(node), constraints);
  const isMatching = matches(after);
  if (before === undefined || after === undefined) return isMatching || matches(before);
  if (matches(before) !== isMatching) return true;
  const isMoved = constraints.some(
    ({ topologyKey }) => labelsOf(before)[topologyKey] !== labelsOf(after)[topologyKey],
  );
  return isMatching && (isMoved || !deepEqual(before.spec?.taints, after.spec?.taints));
}
