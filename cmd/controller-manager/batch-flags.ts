import { type ControllerSettings, defaultControllerSettings } from "#controllers";
import { flag, type FlagValues } from "../flags/parse.ts";

const atLeast1 = { minimum: 1 };

/** Flags of the controllers of Jobs and CronJobs. */
export const batchFlags = {
  "concurrent-job-syncs": flag(
    "int",
    defaultControllerSettings.jobWorkers,
    "number of Jobs that are synced concurrently",
    atLeast1,
  ),
  "concurrent-cron-job-syncs": flag(
    "int",
    defaultControllerSettings.cronJobWorkers,
    "number of CronJobs that are synced concurrently",
    atLeast1,
  ),
  "concurrent-ttl-after-finished-syncs": flag(
    "int",
    defaultControllerSettings.ttlWorkers,
    "number of finished Jobs that are checked for expiry concurrently",
    atLeast1,
  ),
} as const;

export function batchSettings(values: FlagValues<typeof batchFlags>) {
  return {
    jobWorkers: values["concurrent-job-syncs"],
    cronJobWorkers: values["concurrent-cron-job-syncs"],
    ttlWorkers: values["concurrent-ttl-after-finished-syncs"],
  } satisfies Partial<ControllerSettings>;
}
