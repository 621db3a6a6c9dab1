/** Missed and next times of CronJobs. */
import type { CronSchedule } from "#api";
import type { CronJob } from "#kinds";
import { lastTime, nextTime } from "./schedule-times.ts";

/** Missed times above which a CronJob is warned about. */
const manyMissed = 100;
/** Time by which a sync comes late, so that a clock that is a little behind does not miss it. */
const lateMs = 100;

interface RecentTime {
  /** Time from which missed times count. */
  readonly earliest: number;
  /** The last time that has come since; undefined = none has. */
  readonly last: number | undefined;
  readonly missed: "none" | "few" | "many";
}

/** A schedule that can never be met: its message, as events show it. */
export interface ScheduleFault {
  readonly fault: string;
}

/**
 * The last time of the schedule that has come since the CronJob was last scheduled or created.
 * Times are in milliseconds since 1970.
 * @param from time before which missed times do not matter
 */
function recentTime(
  { metadata, status = {} }: CronJob,
  schedule: CronSchedule,
  now: number,
  from: number,
): RecentTime | ScheduleFault {
  const { creationTimestamp = 0 } = metadata;
  const since = new Date(status.lastScheduleTime ?? creationTimestamp).getTime();
  const earliest = Math.max(since, from);
  const fault = { fault: "time difference between two schedules is less than 1 second" };
  const first = nextTime(schedule, earliest);
  if (first === undefined) return fault;
  if (now < first) return { earliest, last: undefined, missed: "none" };
  const second = nextTime(schedule, first);
  if (second === undefined) return fault;
  if (now < second) return { earliest, last: first, missed: "none" };
  // An estimate that takes the first interval for all.
  const interval = second - first;
  const count = Math.floor((now - first) / interval) + 1;
  const last = lastTime(schedule, first + (count - 2) * interval, now);
  return { earliest, last, missed: count > manyMissed ? "many" : "few" };
}

/** The time for which a Job is due; `isMuchMissed` if more than 100 times were missed before it. */
export function dueTime(
  cronJob: CronJob,
  schedule: CronSchedule,
  now: number,
): { readonly time: number | undefined; readonly isMuchMissed: boolean } | ScheduleFault {
  const { startingDeadlineSeconds } = cronJob.spec;
  const deadline =
    startingDeadlineSeconds === undefined ? 0 : now - Number(startingDeadlineSeconds) * 1000;
  const recent = recentTime(cronJob, schedule, now, deadline);
  if ("fault" in recent) return recent;
  return {
    time: recent.last,
    isMuchMissed: recent.last !== undefined && recent.missed === "many",
  };
}

/** Milliseconds until the CronJob is to be synced for its next time; undefined = there is none. */
export function nextSyncDelay(
  cronJob: CronJob,
  schedule: CronSchedule,
  now: number,
): number | undefined {
  const recent = recentTime(cronJob, schedule, now, 0);
  let from = now;
  if (!("fault" in recent))
    from = recent.last ?? (recent.missed === "none" ? recent.earliest : now);
  const next = nextTime(schedule, from);
  return next === undefined ? undefined : Math.max(next - now, 0) + lateMs;
}
