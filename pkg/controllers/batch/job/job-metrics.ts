/** Metrics of the Job controller, named as in kube-controller-manager. */
import type { JobCondition, JobSpec, JobStatus, Pod } from "#kinds";
import type { Instruments, MetricDefinition } from "#request";
import { isTerminal } from "../../pods/pod-state.ts";
import { countIndexes, parseIntervals } from "./policy/index-intervals.ts";
import type { JobNames } from "./job-names.ts";
import { hasTrackingFinalizer } from "./job-pods.ts";
import { completionModeOf, isIndexed } from "./job-spec.ts";

const syncLabels = ["completion_mode", "result", "action"];

export const jobMetrics: readonly MetricDefinition[] = [
  {
    name: "job_controller_job_sync_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that syncing a Job takes.",
    labels: syncLabels,
    buckets: Array.from({ length: 15 }, (_, index) => 0.004 * 2 ** index),
  },
  {
    name: "job_controller_job_syncs_total",
    kind: "counter",
    help: "Number of syncs of Jobs.",
    labels: syncLabels,
  },
  {
    name: "job_controller_jobs_finished_total",
    kind: "counter",
    help: "Number of Jobs that have finished.",
    labels: ["completion_mode", "result", "reason"],
  },
  {
    name: "job_controller_jobs_by_external_controller_total",
    kind: "counter",
    help: "Number of Jobs that another controller manages.",
    labels: ["controller_name"],
  },
  {
    name: "job_controller_job_pods_finished_total",
    kind: "counter",
    help: "Number of finished pods that are counted in the status of their Job.",
    labels: ["completion_mode", "result"],
  },
  {
    name: "job_controller_pod_failures_handled_by_failure_policy_total",
    kind: "counter",
    help: "Number of failed pods that a rule of a pod failure policy matched, by its action.",
    labels: ["action"],
  },
  {
    name: "job_controller_terminated_pods_tracking_finalizer_total",
    kind: "counter",
    help: "Number of terminated pods that got (event add) or lost (delete) the tracking finalizer.",
    labels: ["event"],
  },
  {
    name: "job_controller_job_finished_indexes_total",
    kind: "counter",
    help: "Number of indexes that have finished.",
    labels: ["status", "backoffLimit"],
  },
  {
    name: "job_controller_job_pods_creation_total",
    kind: "counter",
    help: "Number of pods that were created for Jobs, by reason and result.",
    labels: ["reason", "status"],
  },
];

export class JobMetrics {
  constructor(private readonly instruments: Instruments) {}

  synced(spec: JobSpec, action: string, isSuccess: boolean, seconds: number): void {
    const result = isSuccess ? "success" : "error";
    const labels = { completion_mode: completionModeOf(spec), result, action };
    this.instruments.observe("job_controller_job_sync_duration_seconds", labels, seconds);
    this.instruments.add("job_controller_job_syncs_total", labels, 1);
  }

  finished(spec: JobSpec, { type, reason = "" }: JobCondition): void {
    const result = type === "Complete" ? "succeeded" : "failed";
    const labels = { completion_mode: completionModeOf(spec), result, reason };
    this.instruments.add("job_controller_jobs_finished_total", labels, 1);
  }

  managedByOther(controllerName: string): void {
    const labels = { controller_name: controllerName };
    this.instruments.add("job_controller_jobs_by_external_controller_total", labels, 1);
  }

  /** Adds the difference of two statuses to the counters. */
  podsFinished(spec: JobSpec, before: JobStatus, after: JobStatus): void {
    const mode = { completion_mode: completionModeOf(spec) };
    let succeeded = (after.succeeded ?? 0) - (before.succeeded ?? 0);
    if (isIndexed(spec)) {
      succeeded = grown(spec, before.completedIndexes, after.completedIndexes);
      const failed = grown(spec, before.failedIndexes, after.failedIndexes);
      const backoffLimit = spec.backoffLimitPerIndex === undefined ? "global" : "perIndex";
      this.count("job_controller_job_finished_indexes_total", "status", { backoffLimit }, [
        succeeded,
        failed,
      ]);
    }
    const failed = (after.failed ?? 0) - (before.failed ?? 0);
    const name = "job_controller_job_pods_finished_total";
    this.count(name, "result", mode, [succeeded, failed]);
  }

  failurePolicyActions(actions: ReadonlyMap<string, number>): void {
    for (const [action, count] of actions) {
      const name = "job_controller_pod_failures_handled_by_failure_policy_total";
      this.instruments.add(name, { action }, count);
    }
  }

  podsCreated(
    { podReplacementPolicy }: JobSpec,
    created: { readonly succeeded: number; readonly failed: number },
    { failed, terminating }: { readonly failed: number; readonly terminating: number },
  ): void {
    let reason = "new";
    if (podReplacementPolicy === "Failed" && failed > 0) reason = "recreate_failed";
    else if (failed > 0 || terminating > 0) reason = "recreate_terminating_or_failed";
    const name = "job_controller_job_pods_creation_total";
    this.count(name, "status", { reason }, [created.succeeded, created.failed]);
  }

  /** Called with a pod before and after a change; undefined = created or deleted. */
  podChanged(before: Pod | undefined, after: Pod | undefined, names: JobNames): void {
    const isTracked = (pod: Pod | undefined) =>
      pod !== undefined && isTerminal(pod) && hasTrackingFinalizer(pod, names);
    const [was, is] = [isTracked(before), isTracked(after)];
    if (was === is) return;
    const name = "job_controller_terminated_pods_tracking_finalizer_total";
    this.instruments.add(name, { event: is ? "add" : "delete" }, 1);
  }

  private count(
    name: string,
    label: string,
    labels: Readonly<Record<string, string>>,
    [succeeded, failed]: readonly [number, number],
  ): void {
    if (succeeded > 0) this.instruments.add(name, { ...labels, [label]: "succeeded" }, succeeded);
    if (failed > 0) this.instruments.add(name, { ...labels, [label]: "failed" }, failed);
  }
}

function grown({ completions = 0 }: JobSpec, before = "", after = ""): number {
  if (before === after) return 0;
  const count = (text: string) => countIndexes(parseIntervals(text, completions));
  return count(after) - count(before);
}
