/** Jobs and CronJobs. */
import type { ApiObject, Handle, Metadata } from "#client";
import type { LabelSelector } from "#meta";
import type { Condition } from "./core.ts";
import type { PodTemplateSpec } from "./pod.ts";

export interface OnExitCodes {
  readonly containerName?: string;
  readonly operator: "In" | "NotIn";
  readonly values: readonly number[];
}

export interface PodFailurePolicyRule {
  readonly action: "FailJob" | "FailIndex" | "Ignore" | "Count";
  readonly onExitCodes?: OnExitCodes;
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
}

export interface PodFailurePolicy {
  readonly rules: readonly PodFailurePolicyRule[];
}

export interface SuccessPolicyRule {
  /** Intervals: `0,2-4`. */
  readonly succeededIndexes?: string;
  readonly succeededCount?: number;
}

/** Spec of a Job with its defaults. */
export interface JobSpec {
  readonly parallelism?: number;
  readonly completions?: number;
  readonly activeDeadlineSeconds?: number | bigint;
  readonly podFailurePolicy?: PodFailurePolicy;
  readonly successPolicy?: { readonly rules: readonly SuccessPolicyRule[] };
  readonly backoffLimit?: number;
  readonly backoffLimitPerIndex?: number;
  readonly maxFailedIndexes?: number;
  readonly selector?: LabelSelector;
  readonly template: PodTemplateSpec;
  readonly ttlSecondsAfterFinished?: number;
  readonly completionMode?: string;
  readonly suspend?: boolean;
  readonly podReplacementPolicy?: "TerminatingOrFailed" | "Failed";
  readonly managedBy?: string;
}

export interface JobCondition extends Condition {
  readonly lastProbeTime?: string;
}

/** UIDs of finished pods that the counters do not include yet. */
export interface UncountedTerminatedPods {
  readonly succeeded?: readonly string[];
  readonly failed?: readonly string[];
}

export interface JobStatus {
  readonly conditions?: readonly JobCondition[];
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly active?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly terminating?: number;
  readonly completedIndexes?: string;
  readonly failedIndexes?: string;
  readonly uncountedTerminatedPods?: UncountedTerminatedPods;
  readonly ready?: number;
}

export interface Job extends ApiObject {
  readonly spec: JobSpec;
  readonly status?: JobStatus;
}

/** Reference to an active Job of a CronJob. */
export interface ActiveJob {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface CronJobStatus {
  readonly active?: readonly ActiveJob[];
  readonly lastScheduleTime?: string;
  readonly lastSuccessfulTime?: string;
}

export interface CronJob extends ApiObject {
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly startingDeadlineSeconds?: number | bigint;
    readonly concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
    readonly suspend?: boolean;
    readonly jobTemplate: {
      readonly metadata?: Pick<Metadata, "labels" | "annotations">;
      readonly spec: JobSpec;
    };
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
  };
  readonly status?: CronJobStatus;
}

const batch = { group: "batch", version: "v1", namespaced: true } as const;

export const jobs: Handle<Job> = { ...batch, plural: "jobs", kind: "Job" };
export const cronJobs: Handle<CronJob> = { ...batch, plural: "cronjobs", kind: "CronJob" };
