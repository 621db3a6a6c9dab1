/** Creates and deletes the pods of a Job. */
import { type Client, objectKey } from "#client";
import { type Pod, pods as podResource } from "#kinds";
import { isNotFound } from "#meta";
import { isTerminating } from "../../controller-context.ts";
import type { Expectations } from "../../owners/expectations.ts";
import type { PodControl } from "../../pods/pod-control.ts";
import { isReady } from "../../pods/pod-state.ts";
import { slowStart } from "../../pods/slow-start.ts";
import type { JobState } from "./job-evaluation.ts";
import type { JobMetrics } from "./job-metrics.ts";
import { finalizerRemoval, hasTrackingFinalizer } from "./job-pods.ts";
import { isIndexed, replacesOnlyTerminated } from "./job-spec.ts";
import { missingIndexes, newPod, readyIndexes } from "./new-pods.ts";
import { remainingDelay } from "./policy/pod-backoff.ts";
import { podsToRemove } from "./pods-to-remove.ts";

/** Maximum number of pods that one sync creates or deletes. */
const maxChanges = 500;

export interface ManageOptions {
  readonly client: Client;
  readonly podControl: PodControl;
  readonly expectations: Expectations;
  readonly metrics: JobMetrics;
  /** Requeues the Job. */
  readonly resync: (delayMs: number) => void;
}

/** Action of a sync; a label value of its metrics. */
export type SyncAction = "reconciling" | "tracking" | "pods_created" | "pods_deleted";

export interface Managed {
  /** Number of active pods afterwards. */
  readonly active: number;
  readonly action: SyncAction;
  /** First error; undefined = none. */
  readonly failure: unknown;
}

/** Creates or deletes pods to reach the desired number of active ones. */
export async function managePods(state: JobState, options: ManageOptions): Promise<Managed> {
  const { active, spec } = state;
  const { domain } = options.client;
  if (spec.suspend === true) {
    return removePods(state, podsToRemove(state, active.length, domain), options);
  }
  const wanted = desiredActive(state);
  const surplus = Math.max(active.length - wanted, 0);
  const removed = podsToRemove(state, surplus, domain).slice(0, maxChanges);
  if (removed.length > 0) return removePods(state, removed, options);
  const terminating = replacesOnlyTerminated(spec) ? state.terminating : 0;
  const missing = wanted - terminating - active.length;
  if (missing > 0) return createPods(state, missing, options);
  return { active: active.length, action: "tracking", failure: undefined };
}

/** Desired number of active pods of a Job that is not suspended. */
function desiredActive({ spec, succeeded, active }: JobState): number {
  const { completions, parallelism = 1 } = spec;
  // A work queue Job (no completions) starts no pods after the first success.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(Math.min(completions - succeeded, parallelism), 0);
}

/**
 * Deletes surplus active pods, which do not count. The finalizer is removed first, at the cached
 * resourceVersion: a pod that has finished meanwhile must be counted.
 */
async function removePods(
  state: JobState,
  removed: readonly Pod[],
  { client, podControl, expectations }: ManageOptions,
): Promise<Managed> {
  const { job, key, names, active } = state;
  expectations.expect(key, 0, removed.map(objectKey));
  const failures: unknown[] = [];
  const remove = async (pod: Pod): Promise<void> => {
    const { namespace = "", name, resourceVersion } = pod.metadata;
    try {
      if (hasTrackingFinalizer(pod, names)) {
        const patch = finalizerRemoval(pod, names, resourceVersion);
        await client.patch(podResource, { namespace, name }, patch);
      }
      await podControl.delete(job, pod);
    } catch (error) {
      expectations.observeDeletion(key, objectKey(pod));
      if (!isNotFound(error)) failures.push(error);
    }
  };
  await Promise.all(removed.map(remove));
  const deleted = removed.length - failures.length;
  state.terminating += deleted;
  state.ready -= removed.filter(isReady).length;
  const failure = failures[0];
  return { active: active.length - deleted, action: "pods_deleted", failure };
}

/**
 * Deletes the active pods of a Job that ends. They keep their finalizers, since they count as failed.
 * @returns the number of deleted pods and the first error
 */
export async function deleteActivePods(
  state: JobState,
  podControl: PodControl,
): Promise<{ readonly deleted: number; readonly failure: unknown }> {
  const failures: unknown[] = [];
  const { active, job } = state;
  const remove = async (pod: Pod): Promise<void> => {
    await podControl.delete(job, pod).catch((error: unknown) => {
      if (!isNotFound(error)) failures.push(error);
    });
  };
  await Promise.all(active.map(remove));
  const deleted = active.length - failures.length;
  state.ready -= active.filter(isReady).length;
  state.terminating += deleted;
  return { deleted, failure: failures[0] };
}

async function createPods(
  state: JobState,
  missing: number,
  options: ManageOptions,
): Promise<Managed> {
  const { podControl, expectations, metrics, resync } = options;
  const { job, key, active, spec } = state;
  const plan = creationPlan(state, Math.min(missing, maxChanges));
  if (plan.delayMs > 0) {
    resync(plan.delayMs);
    // kube-controller-manager reports no active pods during a backoff.
    return { active: 0, action: "pods_created", failure: undefined };
  }
  const { count, indexes } = plan;
  expectations.expect(key, count);
  let created = 0;
  const { failures } = await slowStart(count, async (position) => {
    try {
      await podControl.create(job, newPod(state, indexes?.[position]));
      created++;
    } catch (error) {
      // A terminating namespace: the Job will be deleted, too.
      if (!isTerminating(error)) throw error;
    }
  });
  expectations.observeCreations(key, count - created);
  metrics.podsCreated(spec, { succeeded: created, failed: failures.length }, state);
  return { active: active.length + created, action: "pods_created", failure: failures[0] };
}

interface CreationPlan {
  /** Remaining backoff in ms; 0 = create now. */
  readonly delayMs: number;
  readonly count: number;
  /** Undefined for a NonIndexed Job. */
  readonly indexes: readonly number[] | undefined;
}

function creationPlan(state: JobState, limit: number): CreationPlan {
  const { spec, backoff, now } = state;
  const hasLimitPerIndex = spec.backoffLimitPerIndex !== undefined;
  const delayMs = hasLimitPerIndex ? 0 : remainingDelay(backoff, now);
  if (delayMs > 0) return { delayMs, count: 0, indexes: undefined };
  if (!isIndexed(spec)) return { delayMs: 0, count: limit, indexes: undefined };
  const pending = missingIndexes(state, limit);
  if (!hasLimitPerIndex) return { delayMs: 0, count: pending.length, indexes: pending };
  const ready = readyIndexes(state, pending);
  return { ...ready, count: ready.indexes.length };
}
