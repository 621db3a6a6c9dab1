/** Controllers of Jobs and CronJobs, named as in kube-controller-manager. */
import {
  type CronJobControllerOptions,
  cronJobMetrics,
  runCronJobController,
} from "./cron-job/cron-job-controller.ts";
import { type JobControllerOptions, runJobController } from "./job/job-controller.ts";
import { jobMetrics } from "./job/job-metrics.ts";
import {
  runTtlAfterFinishedController,
  ttlAfterFinishedMetrics,
  type TtlAfterFinishedOptions,
} from "./ttl-after-finished-controller.ts";

export interface BatchSettings
  extends JobControllerOptions, CronJobControllerOptions, TtlAfterFinishedOptions {}

/** Defaults of kube-controller-manager. */
export const defaultBatchSettings = { jobWorkers: 5, cronJobWorkers: 5, ttlWorkers: 5 } as const;

export const batchMetrics = [...jobMetrics, ...cronJobMetrics, ...ttlAfterFinishedMetrics];

export const batchControllers = [
  {
    name: "job-controller",
    alias: "job",
    serviceAccount: "job-controller",
    enabledByDefault: true,
    run: runJobController,
  },
  {
    name: "cronjob-controller",
    alias: "cronjob",
    serviceAccount: "cronjob-controller",
    enabledByDefault: true,
    run: runCronJobController,
  },
  {
    name: "ttl-after-finished-controller",
    alias: "ttl-after-finished",
    serviceAccount: "ttl-after-finished-controller",
    enabledByDefault: true,
    run: runTtlAfterFinishedController,
  },
] as const;
