/** Missed and next times of CronJobs. */
import type { CronSchedule } from "#api";
import type { CronJob } from "#kinds";
import { lastTime, nextTime } from "./schedule-times.ts";

/** Number of missed times above which the Event TooManyMissedTimes is recorded. */
const maxMissed = 100;
/** Added to the delay of the next sync, so that clock skew does not make it run too early. */
const clockSkewMs = 100;

interface RecentTime {
  /** Time after which scheduled times count as missed. */
  readonly earliest: number;
  /** Latest scheduled time since then that is not in the future; undefined = none. */
  readonly last: number | undefined;
  readonly missed: "none" | "few" | "many";
}

/** A schedule without a next time: error text for the Event. */
export interface ScheduleFault {
  readonly fault: string;
}

/**
 * Latest scheduled time since the CronJob was last scheduled or created. Times are in milliseconds since
 * 1970.
 * @param from missed times before it are ignored
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
  // Estimate from the first interval, as kube-controller-manager does.
  const interval = second - first;
  const count = Math.floor((now - first) / interval) + 1;
  const last = lastTime(schedule, first + (count - 2) * interval, now);
  return { earliest, last, missed: count > maxMissed ? "many" : "few" };
}

/** Scheduled time for which a Job is due; `isMuchMissed` if more than 100 times were missed before it. */
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

/** Milliseconds until the sync for the next scheduled time; undefined = none within five years. */
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
  return next === undefined ? undefined : Math.max(next - now, 0) + clockSkewMs;
}
