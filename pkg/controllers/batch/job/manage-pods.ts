/** Creation and deletion of the pods of a Job. */
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

/** Pods that one sync creates or deletes at most. */
const mostChanges = 500;

export interface ManageOptions {
  readonly client: Client;
  readonly podControl: PodControl;
  readonly expectations: Expectations;
  readonly metrics: JobMetrics;
  /** Syncs the Job again after so many milliseconds. */
  readonly resync: (delayMs: number) => void;
}

/** What a sync did; also a label of its metrics. */
export type SyncAction = "reconciling" | "tracking" | "pods_created" | "pods_deleted";

export interface Managed {
  /** Active pods after it. */
  readonly active: number;
  readonly action: SyncAction;
  /** First failure; undefined = none. */
  readonly failure: unknown;
}

/** Creates or deletes pods until as many are active as the Job should have. */
export async function managePods(state: JobState, options: ManageOptions): Promise<Managed> {
  const { active, spec } = state;
  const { domain } = options.client;
  if (spec.suspend === true) {
    return removePods(state, podsToRemove(state, active.length, domain), options);
  }
  const wanted = wantedActive(state);
  const surplus = Math.max(active.length - wanted, 0);
  const removed = podsToRemove(state, surplus, domain).slice(0, mostChanges);
  if (removed.length > 0) return removePods(state, removed, options);
  const terminating = replacesOnlyTerminated(spec) ? state.terminating : 0;
  const missing = wanted - terminating - active.length;
  if (missing > 0) return createPods(state, missing, options);
  return { active: active.length, action: "tracking", failure: undefined };
}

/** Number of active pods that a Job should have that is not suspended. */
function wantedActive({ spec, succeeded, active }: JobState): number {
  const { completions, parallelism = 1 } = spec;
  // A work queue without a number of completions drains after the first success.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(Math.min(completions - succeeded, parallelism), 0);
}

/**
 * Deletes active pods that the Job does not count. The finalizer is removed first and only from the
 * pod as the informer shows it: one that has finished meanwhile is to be counted.
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
 * Deletes the active pods of a Job that ends. They keep their finalizers, because they count as
 * failed.
 * @returns the number of deleted pods and the first failure
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
  const plan = creationPlan(state, Math.min(missing, mostChanges));
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
      // Nothing can be created in a terminating namespace, and its Jobs go soon.
      if (!isTerminating(error)) throw error;
    }
  });
  expectations.observeCreations(key, count - created);
  metrics.podsCreated(spec, { succeeded: created, failed: failures.length }, state);
  return { active: active.length + created, action: "pods_created", failure: failures[0] };
}

interface CreationPlan {
  /** Milliseconds until a pod may be created; 0 = now. */
  readonly delayMs: number;
  readonly count: number;
  /** Undefined for a Job without indexes. */
  readonly indexes: readonly number[] | undefined;
}

function creationPlan(state: JobState, most: number): CreationPlan {
  const { spec, backoff, now } = state;
  const hasLimitPerIndex = spec.backoffLimitPerIndex !== undefined;
  const delayMs = hasLimitPerIndex ? 0 : remainingDelay(backoff, now);
  if (delayMs > 0) return { delayMs, count: 0, indexes: undefined };
  if (!isIndexed(spec)) return { delayMs: 0, count: most, indexes: undefined };
  const pending = missingIndexes(state, most);
  if (!hasLimitPerIndex) return { delayMs: 0, count: pending.length, indexes: pending };
  const ready = readyIndexes(state, pending);
  return { ...ready, count: ready.indexes.length };
}
