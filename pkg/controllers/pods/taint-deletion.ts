import { type Pod, pods } from "#kinds";
import { ignoreNotFound } from "#meta";
import type { MetricDefinition } from "#request";
import type { ControllerContext } from "../controller-context.ts";
import { formatTime } from "../time.ts";
import { conditionOf } from "./pod-state.ts";

/** Reason and message of the condition DisruptionTarget of deleted pods. */
interface Disruption {
  readonly reason: string;
  readonly message: string;
}

/** Metrics of a controller that deletes pods because of a taint, named as in kube-controller-manager. */
export function taintDeletionMetrics(
  subsystem: string,
  taint: string,
): readonly [deletions: MetricDefinition, duration: MetricDefinition] {
  return [
    {
      name: `${subsystem}_pod_deletions_total`,
      kind: "counter",
      help: `Number of pods deleted because of a ${taint}.`,
      labels: [],
    },
    {
      name: `${subsystem}_pod_deletion_duration_seconds`,
      kind: "histogram",
      help: `Time in seconds from the moment a ${taint} took effect on a pod to its deletion.`,
      labels: [],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
    },
  ];
}

/** Deletes pods because of a taint, after marking them with the condition DisruptionTarget. */
export class TaintDeletion {
  constructor(
    private readonly context: ControllerContext,
    private readonly disruption: Disruption,
    private readonly metrics: ReturnType<typeof taintDeletionMetrics>,
  ) {}

  /**
   * Deletes a pod whose deletion was due at `dueAt`, in milliseconds since 1970, unless it was deleted
   * or recreated. Calls `deleting` before it writes.
   */
  async delete(cached: Pod, dueAt: number, deleting: () => void): Promise<void> {
    const { client, clock, instruments } = this.context;
    const { namespace = "", name, uid } = cached.metadata;
    const at = { namespace, name };
    const pod = await client.get(pods, at).catch(ignoreNotFound);
    if (pod === undefined || pod.metadata.uid !== uid) return;
    const isMarked = conditionOf(pod, "DisruptionTarget")?.reason === this.disruption.reason;
    if (isMarked && pod.metadata.deletionTimestamp !== undefined) return;
    deleting();
    if (!isMarked) {
      const body = { metadata: { uid }, status: { conditions: [this.conditionFor(pod)] } };
      await client
        .patch(pods, { ...at, subresource: "status" }, { type: "strategic", body })
        .catch(ignoreNotFound);
    }
    await client.delete(pods, at, { preconditions: { uid } }).catch(ignoreNotFound);
    const [deletions, duration] = this.metrics;
    instruments.add(deletions.name, {}, 1);
    instruments.observe(duration.name, {}, (clock.now() - dueAt) / 1000);
  }

  private conditionFor({ metadata }: Pod) {
    return {
      type: "DisruptionTarget",
      status: "True",
      ...this.disruption,
      observedGeneration: Number(metadata.generation ?? 0),
      lastTransitionTime: formatTime(this.context.clock.now()),
    };
  }
}
