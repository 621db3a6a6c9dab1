import type { Node, Pod } from "#kinds";
import { resolve } from "#meta";
import { actions } from "../../framework/cluster-events.ts";
import type { Plugin } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { NodeInfo } from "../../framework/node-info.ts";
import { type PodInfo, podInfoOf } from "../../framework/pod-info.ts";
import type { Resources } from "../../framework/resources.ts";
import { skip, type Status } from "../../framework/status.ts";
import {
  balanceScore,
  type ResourceSpec,
  type ScoringStrategy,
  strategyScorer,
} from "./allocation.ts";

const name = "NodeResourcesFit";

export interface FitArgs {
  /** Extended resources to ignore. */
  readonly ignoredResources: readonly string[];
  /** Domains of extended resources to ignore. */
  readonly ignoredResourceGroups: readonly string[];
  readonly scoringStrategy: ScoringStrategy;
}

/** NodeResourcesFit: rejects nodes with insufficient resources; scores by the scoring strategy. */
export function nodeResourcesFit({ domain }: PluginHandle, args: FitArgs): Plugin {
  const ignored = new Set(args.ignoredResources);
  const ignoredGroups = new Set(args.ignoredResourceGroups);
  const native = resolve("{label}/", domain);
  const isIgnored = (resource: string) =>
    resource.includes("/") &&
    !resource.includes(native) &&
    (ignored.has(resource) || ignoredGroups.has(resource.split("/")[0]!));
  const scoreOf = strategyScorer(args.scoringStrategy);
  const fits = (pod: Pod, node: Node) => {
    return insufficient(podInfoOf(pod), new NodeInfo(node), isIgnored) === undefined;
  };
  return {
    name,
    filter: ({ podInfo }, node) => insufficient(podInfo, node, isIgnored),
    score: ({ podInfo }, node) => scoreOf(node, podInfo),
    events: [
      {
        resource: "Pod",
        action: actions.delete | actions.updatePodScaleDown,
        hint: (pod, { before, after }) => {
          const other = (after ?? before) as Pod;
          if (after === undefined) {
            return !!other.spec?.nodeName || !!other.status?.nominatedNodeName;
          }
          if (pod.metadata.uid === after.metadata.uid) return true;
          return !!other.spec?.nodeName && freesResources(pod, before as Pod, other);
        },
      },
      {
        resource: "Node",
        action: actions.add | actions.updateNodeAllocatable,
        hint: (pod, { before, after }) =>
          fits(pod, after as Node) &&
          (before === undefined || hasGrown(podInfoOf(pod), before as Node, after as Node)),
      },
    ],
  };
}

/** NodeResourcesBalancedAllocation: prefers nodes with balanced resource usage. */
export function nodeResourcesBalancedAllocation(resources: readonly ResourceSpec[]): Plugin {
  return {
    name: "NodeResourcesBalancedAllocation",
    preScore: ({ podInfo: { requests } }) =>
      resources.every(({ name: each }) => amountOf(requests, each) === 0) ? skip : undefined,
    score: ({ podInfo }, node) => balanceScore(node, podInfo, resources),
  };
}

function amountOf(resources: Resources, resource: string): number {
  if (resource === "cpu") return resources.milliCpu;
  if (resource === "memory") return resources.memory;
  if (resource === "ephemeral-storage") return resources.ephemeralStorage;
  return resources.scalars.get(resource) ?? 0;
}

/** Insufficient resources of the node; unresolvable if the pod exceeds the allocatable amount. */
function insufficient(
  { requests }: PodInfo,
  { allocatable, requested, pods, allowedPods }: NodeInfo,
  isIgnored: (resource: string) => boolean,
): Status | undefined {
  // Hot path: allocates no objects for a node that fits.
  let shortage: Shortage | undefined;
  if (pods.length + 1 > allowedPods) shortage = lacking(shortage, "Too many pods", false);
  const { milliCpu, memory, ephemeralStorage } = requests;
  if (milliCpu > 0 && milliCpu > allocatable.milliCpu - requested.milliCpu) {
    shortage = lacking(shortage, "Insufficient cpu", milliCpu > allocatable.milliCpu);
  }
  if (memory > 0 && memory > allocatable.memory - requested.memory) {
    shortage = lacking(shortage, "Insufficient memory", memory > allocatable.memory);
  }
  const storage = allocatable.ephemeralStorage;
  if (ephemeralStorage > 0 && ephemeralStorage > storage - requested.ephemeralStorage) {
    const isHopeless = ephemeralStorage > storage;
    shortage = lacking(shortage, "Insufficient ephemeral-storage", isHopeless);
  }
  if (requests.scalars.size > 0) {
    for (const [resource, wanted] of requests.scalars) {
      if (wanted === 0 || isIgnored(resource)) continue;
      const capacity = allocatable.scalars.get(resource) ?? 0;
      if (wanted <= capacity - (requested.scalars.get(resource) ?? 0)) continue;
      shortage = lacking(shortage, `Insufficient ${resource}`, wanted > capacity);
    }
  }
  if (shortage === undefined) return undefined;
  const { reasons, isHopeless } = shortage;
  return {
    code: isHopeless ? "UnschedulableAndUnresolvable" : "Unschedulable",
    reasons,
    plugin: name,
  };
}

interface Shortage {
  readonly reasons: readonly string[];
  /** Whether the pod exceeds the allocatable amount, so that preemption does not help. */
  readonly isHopeless: boolean;
}

function lacking(known: Shortage | undefined, reason: string, isHopeless: boolean): Shortage {
  if (known === undefined) return { reasons: [reason], isHopeless };
  return { reasons: [...known.reasons, reason], isHopeless: known.isHopeless || isHopeless };
}

function names({ scalars }: Resources): readonly string[] {
  return ["cpu", "memory", "ephemeral-storage", ...scalars.keys()];
}

function freesResources(pod: Pod, before: Pod, after: Pod): boolean {
  const { requests } = podInfoOf(pod);
  const old = podInfoOf(before).requests;
  const now = podInfoOf(after).requests;
  return names(requests).some(
    (each) => amountOf(requests, each) > 0 && amountOf(old, each) > amountOf(now, each),
  );
}

function hasGrown({ requests }: PodInfo, before: Node, after: Node): boolean {
  const old = new NodeInfo(before);
  const now = new NodeInfo(after);
  if (now.allowedPods > old.allowedPods) return true;
  return names(requests).some(
    (each) =>
      amountOf(requests, each) > 0 &&
      amountOf(now.allocatable, each) > amountOf(old.allocatable, each),
  );
}
