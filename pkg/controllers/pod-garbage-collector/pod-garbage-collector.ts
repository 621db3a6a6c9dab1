import { idleWhile } from "#base";
import type { Informer } from "#client";
import {
  type Node,
  nodes as nodeHandle,
  type Pod,
  type PodCondition,
  pods as podHandle,
} from "#kinds";
import { ignoreNotFound, isNotFound, resolve } from "#meta";
import type { ControllerContext } from "../controller-context.ts";
import { formatTime } from "../time.ts";
import type { DeletionReason } from "./pod-garbage-collector-metrics.ts";

export interface PodGarbageCollectorOptions {
  /** Maximum number of terminated pods to retain; 0 or less = no limit. */
  readonly terminatedPodThreshold: number;
}

/** kube-controller-manager's default. */
export const defaultTerminatedPodThreshold = 12_500;

const intervalMs = 20_000;
/** Time that an unknown node has to appear in the informer before its pods are orphans. */
const quarantineMs = 40_000;
const nodeDeleted = {
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByPodGC",
  message: "PodGC: node no longer exists",
} as const;

/**
 * Deletes pods that no kubelet will delete: pods of deleted and out-of-service nodes, terminating pods that
 * were never scheduled, and the oldest terminated pods beyond the threshold.
 */
export async function runPodGarbageCollector(
  context: ControllerContext,
  { terminatedPodThreshold }: PodGarbageCollectorOptions,
): Promise<void> {
  const { clock, informers, signal } = context;
  const collector = new PodGarbageCollector(context);
  const pods = informers.of(podHandle);
  await Promise.all([pods.untilSynced(), informers.of(nodeHandle).untilSynced()]);
  const pause = idleWhile(() => collector.isIdle([...pods.all()], terminatedPodThreshold));
  while (!signal.aborted) {
    await collector.collect([...pods.all()], terminatedPodThreshold);
    await clock.sleep(intervalMs, signal, pause).catch(() => undefined);
  }
}

class PodGarbageCollector {
  private readonly nodes: Informer<Node>;
  /** Unknown nodes that pods reference: time of the first observation in ms since 1970, by name. */
  private readonly quarantined = new Map<string, number>();

  constructor(private readonly context: ControllerContext) {
    this.nodes = context.informers.of(nodeHandle);
  }

  /** @param kept maximum number of terminated pods to retain; 0 = no limit */
  async collect(pods: readonly Pod[], kept: number): Promise<void> {
    await this.deleteAll(this.surplus(pods, kept), "terminated");
    await this.deleteAll(this.outOfService(pods), "out-of-service");
    const deletedNodes = await this.deletedNodes(pods);
    const orphans = pods.filter(({ spec }) => deletedNodes.has(spec?.nodeName ?? ""));
    await this.deleteAll(orphans, "orphaned", nodeDeleted);
    await this.deleteAll(unbound(pods), "unscheduled");
  }

  /** Whether no pod is to be deleted, now or after the quarantine of its node. */
  isIdle(pods: readonly Pod[], kept: number): boolean {
    const candidates = [this.surplus(pods, kept), this.outOfService(pods), unbound(pods)];
    if (candidates.some(({ length }) => length > 0)) return false;
    return this.quarantined.size === 0 && this.missingNodes(pods).length === 0;
  }

  /** Terminated pods beyond the threshold: evicted ones first, then the oldest. */
  private surplus(pods: readonly Pod[], kept: number): readonly Pod[] {
    const ended =
      kept > 0 ? pods.filter(({ status }) => !nonTerminalPhases.has(status?.phase ?? "")) : [];
    return ended.length > kept ? oldestFirst(ended).slice(0, ended.length - kept) : [];
  }

  private isOutOfService({ spec, status }: Node): boolean {
    const taint = resolve("node.{label}/out-of-service", this.context.client.domain);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return ready?.status !== "True" && (spec?.taints ?? []).some(({ key }) => key === taint);
  }

  /** Terminating pods on nodes with the taint `out-of-service`. */
  private outOfService(pods: readonly Pod[]): readonly Pod[] {
    const stuck = pods.filter(({ metadata, spec }) => {
      const node = metadata.deletionTimestamp && this.nodes.get(spec?.nodeName ?? "");
      return node ? this.isOutOfService(node) : false;
    });
    return oldestFirst(stuck);
  }

  private missingNodes(pods: readonly Pod[]): readonly string[] {
    const named = new Set(pods.map(({ spec }) => spec?.nodeName ?? ""));
    return [...named].filter((name) => name !== "" && this.nodes.get(name) === undefined);
  }

  /** Referenced nodes that do not exist by a live read after the quarantine. */
  private async deletedNodes(pods: readonly Pod[]): Promise<ReadonlySet<string>> {
    const { client, clock, report } = this.context;
    const missing = this.missingNodes(pods);
    for (const name of this.quarantined.keys()) {
      if (!missing.includes(name)) this.quarantined.delete(name);
    }
    const deletedNodes = new Set<string>();
    for (const name of missing) {
      const since = this.quarantined.get(name) ?? clock.now();
      this.quarantined.set(name, since);
      if (clock.now() < since + quarantineMs) continue;
      await client.get(nodeHandle, { name }, { metadataOnly: true }).catch((error: unknown) => {
        if (isNotFound(error)) deletedNodes.add(name);
        else report(`Failed to look for the node ${name}`, error);
      });
    }
    return deletedNodes;
  }

  private async deleteAll(
    pods: readonly Pod[],
    reason: DeletionReason,
    condition?: PodCondition,
  ): Promise<void> {
    const { instruments, report, signal } = this.context;
    await Promise.all(
      pods.map(async (pod) => {
        const { namespace = "", name } = pod.metadata;
        const labels = { namespace, reason };
        try {
          await this.failAndDelete(pod, condition);
        } catch (error) {
          instruments.add("pod_gc_collector_force_delete_pod_errors_total", labels, 1);
          if (!signal.aborted) report(`Failed to delete the pod ${namespace}/${name}`, error);
        }
        instruments.add("pod_gc_collector_force_delete_pods_total", labels, 1);
      }),
    );
  }

  /** Sets phase Failed (and the condition), then deletes the pod without a grace period. */
  private async failAndDelete(pod: Pod, condition: PodCondition | undefined): Promise<void> {
    const { client, clock } = this.context;
    const { namespace = "", name, uid, generation } = pod.metadata;
    const { phase, conditions = [] } = pod.status ?? {};
    if (phase !== "Succeeded" && phase !== "Failed") {
      const observedGeneration = Number(generation ?? 0);
      const before = conditions.find(({ type }) => type === condition?.type);
      const lastTransitionTime =
        before?.status === condition?.status && before?.lastTransitionTime !== undefined
          ? before.lastTransitionTime
          : formatTime(clock.now());
      const added =
        condition === undefined ? [] : [{ ...condition, observedGeneration, lastTransitionTime }];
      const status = { phase: "Failed", observedGeneration, conditions: added };
      const body = { metadata: { uid }, status };
      const patch = { type: "strategic", body } as const;
      await client.patch(podHandle, { namespace, name, subresource: "status" }, patch);
    }
    await client
      .delete(podHandle, { namespace, name }, { gracePeriodSeconds: 0 })
      .catch(ignoreNotFound);
  }
}

/** Terminating pods that were never scheduled. */
function unbound(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter(
    ({ metadata, spec }) => metadata.deletionTimestamp !== undefined && !spec?.nodeName,
  );
}

const nonTerminalPhases: ReadonlySet<string> = new Set(["Pending", "Running", "Unknown"]);

function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  const isEvicted = ({ status }: Pod) => status?.phase === "Failed" && status.reason === "Evicted";
  const ageKey = ({ metadata }: Pod) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`;
  return pods.toSorted((a, b) => {
    if (isEvicted(a) !== isEvicted(b)) return isEvicted(a) ? -1 : 1;
    return ageKey(a) < ageKey(b) ? -1 : 1;
  });
}
