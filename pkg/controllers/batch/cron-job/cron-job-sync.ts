import type { CoreEventRecorder } from "#client";
import { type CronSchedule, isTimeZone, parseCronSchedule } from "#api";
import {
  type ActiveJob,
  type CronJob,
  cronJobs as cronJobResource,
  type CronJobStatus,
  type Job,
  jobs as jobResource,
} from "#kinds";
import { goQuote, groupVersionOf, isConflict, isNotFound, kubernetes } from "#meta";
import { type ControllerContext, isTerminating } from "../../controller-context.ts";
import { isControlledBy } from "../../owners/controller-ref.ts";
import { formatTime } from "../../time.ts";
import { finishedConditionOf, isFinished } from "../job/job-spec.ts";
import { jobNameAt, newJob, scheduledTimeOf } from "./cron-job-names.ts";
import { dueTime, nextSyncDelay } from "./missed-schedules.ts";

type MutableStatus = { -readonly [K in keyof CronJobStatus]: CronJobStatus[K] };
type SyncContext = ControllerContext & { readonly recorder: CoreEventRecorder };

export const creationSkewMetric = "cronjob_controller_job_creation_skew_duration_seconds";

/** The schedule prefixed with `spec.timeZone`, unless it contains a time zone itself. */
export function effectiveSchedule({ spec: { schedule, timeZone } }: CronJob): string {
  if (schedule.includes("TZ") || timeZone === undefined || !isTimeZone(timeZone)) return schedule;
  return `TZ=${timeZone} ${schedule}`;
}

/** One sync of a CronJob: deletes old Jobs, updates the active ones in the status, creates the due Job. */
export class CronJobSync {
  /** The CronJob as last read. */
  current: CronJob;
  /** Status to write after the sync, even if it fails. */
  status: MutableStatus;

  constructor(
    private readonly context: SyncContext,
    cronJob: CronJob,
    private readonly jobs: readonly Job[],
  ) {
    this.current = cronJob;
    this.status = { ...cronJob.status };
  }

  /** Returns the milliseconds until the next sync; undefined = on the next change. */
  async run(): Promise<number | undefined> {
    await this.deleteOldJobs();
    await this.updateActiveJobs();
    await this.removeMissingJobs();
    const { metadata, spec } = this.current;
    if (metadata.deletionTimestamp !== undefined || !this.hasKnownTimeZone()) return undefined;
    if (spec.suspend === true) return undefined;
    const schedule = this.parseSchedule();
    if (schedule === undefined) return undefined;
    const now = this.context.clock.now();
    const due = dueTime(this.current, schedule, now);
    if ("fault" in due) {
      this.recordWarning("InvalidSchedule", `invalid schedule: ${spec.schedule} : ${due.fault}`);
      return undefined;
    }
    if (due.isMuchMissed) {
      this.recordWarning(
        "TooManyMissedTimes",
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check " +
          "clock skew",
      );
    }
    if (due.time !== undefined && this.mayStart(due.time, now)) await this.start(due.time);
    const { current, status } = this;
    return nextSyncDelay({ ...current, status }, schedule, this.context.clock.now());
  }

  /** Deletes the oldest finished Jobs beyond the history limits. */
  private async deleteOldJobs(): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = this.current.spec;
    const limits = [
      ["Complete", successfulJobsHistoryLimit],
      ["Failed", failedJobsHistoryLimit],
    ] as const;
    for (const [type, limit] of limits) {
      if (limit === undefined) continue;
      const finished = this.jobs.filter((job) => finishedConditionOf(job)?.type === type);
      const oldest = finished.sort(byStartTime).slice(0, Math.max(finished.length - limit, 0));
      for (const job of oldest) {
        if (job.metadata.deletionTimestamp === undefined) await this.deleteJob(job);
      }
    }
  }

  /** Returns whether the deletion succeeded. */
  private async deleteJob({ metadata }: Job): Promise<boolean> {
    const { namespace = "", name, uid } = metadata;
    const options = { propagationPolicy: "Background", preconditions: { uid } } as const;
    try {
      await this.context.client.delete(jobResource, { namespace, name }, options);
    } catch (error) {
      this.recordWarning("FailedDelete", `Deleted job: ${(error as Error).message}`);
      return false;
    }
    this.removeActive(uid);
    this.recordNormal("SuccessfulDelete", `Deleted job ${name}`);
    return true;
  }

  /** Removes finished Jobs from `status.active`, and adds unfinished ones that are missing there. */
  private async updateActiveJobs(): Promise<void> {
    for (const job of this.jobs) {
      if (isFinished(job)) this.handleFinished(job);
      else if (!this.isActive(job)) await this.recoverActive(job);
    }
  }

  private handleFinished(job: Job): void {
    const { name, uid } = job.metadata;
    const type = finishedConditionOf(job)?.type;
    if (this.isActive(job)) {
      this.removeActive(uid);
      this.recordNormal("SawCompletedJob", `Saw completed job: ${name}, condition: ${type}`);
    }
    const { completionTime } = job.status ?? {};
    if (type !== "Complete" || completionTime === undefined) return;
    const { lastSuccessfulTime } = this.status;
    const isLater =
      lastSuccessfulTime === undefined ||
      Date.parse(completionTime) > Date.parse(lastSuccessfulTime);
    if (isLater) this.status.lastSuccessfulTime = completionTime;
  }

  /**
   * Handles an unfinished Job that is not in `status.active`: the status is stale, or the controller
   * crashed between creating the Job and updating the status.
   */
  private async recoverActive(job: Job): Promise<void> {
    const { client } = this.context;
    const { namespace = "", name } = this.current.metadata;
    const fresh = await client.get(cronJobResource, { namespace, name });
    if (fresh.status?.active?.some(({ uid }) => uid === job.metadata.uid)) {
      this.current = fresh;
      this.status = { ...fresh.status };
      return;
    }
    const message = `Saw a job that the controller did not create or forgot: ${job.metadata.name}`;
    const time = scheduledTimeOf(this.current, job, client.domain);
    if (time === undefined) this.recordWarning("UnexpectedJob", message);
    else this.addActive(job, time);
  }

  /** Removes Jobs that do not exist from `status.active`; live reads, since the informer may be stale. */
  private async removeMissingJobs(): Promise<void> {
    const known = new Set(this.jobs.map(({ metadata }) => metadata.uid));
    for (const { name = "", namespace = "", uid = "" } of this.status.active ?? []) {
      if (known.has(uid) || (await this.exists(namespace, name, uid))) continue;
      this.recordNormal("MissingJob", `Active job went missing: ${name}`);
      this.removeActive(uid);
    }
  }

  private async exists(namespace: string, name: string, uid: string): Promise<boolean> {
    try {
      const job = await this.context.client.get(jobResource, { namespace, name });
      return job.metadata.uid === uid;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  private hasKnownTimeZone(): boolean {
    const { timeZone } = this.current.spec;
    if (timeZone === undefined || isTimeZone(timeZone)) return true;
    const reason = `unknown time zone ${timeZone}`;
    this.recordWarning("UnknownTimeZone", `invalid timeZone: ${goQuote(timeZone)}: ${reason}`);
    return false;
  }

  private parseSchedule(): CronSchedule | undefined {
    const { schedule } = this.current.spec;
    if (schedule.includes("TZ")) {
      this.recordWarning(
        "UnsupportedSchedule",
        `CRON_TZ or TZ used in schedule ${goQuote(schedule)} is not officially supported, see ` +
          `https://${kubernetes.label}/docs/concepts/workloads/controllers/cron-jobs/ for more details`,
      );
    }
    const parsed = parseCronSchedule(effectiveSchedule(this.current));
    if (typeof parsed !== "string") return parsed;
    this.recordWarning(
      "UnparseableSchedule",
      `unparseable schedule: ${goQuote(schedule)} : ${parsed}`,
    );
    return undefined;
  }

  private mayStart(time: number, now: number): boolean {
    const { startingDeadlineSeconds, concurrencyPolicy } = this.current.spec;
    const { active = [], lastScheduleTime } = this.status;
    const deadlineMs =
      startingDeadlineSeconds === undefined ? Infinity : Number(startingDeadlineSeconds) * 1000;
    if (time + deadlineMs < now) {
      const scheduledTime = new Date(time).toUTCString().replace("GMT", "+0000");
      this.recordWarning("MissSchedule", `Missed scheduled time to start a job: ${scheduledTime}`);
      return false;
    }
    const jobName = jobNameAt(this.current, time);
    const isStarted =
      active.some(({ name }) => name === jobName) ||
      (lastScheduleTime !== undefined && Date.parse(lastScheduleTime) === time);
    if (isStarted) return false;
    if (concurrencyPolicy !== "Forbid" || active.length === 0) return true;
    this.recordNormal(
      "JobAlreadyActive",
      "Not starting job because prior execution is running and concurrency policy is Forbid",
    );
    return false;
  }

  private async start(time: number): Promise<void> {
    const { client, instruments } = this.context;
    if (this.current.spec.concurrencyPolicy === "Replace") await this.deleteActiveJobs();
    let job: Job;
    try {
      job = await client.create(jobResource, newJob(this.current, time, client.domain));
    } catch (error) {
      if (isTerminating(error)) return;
      if (isConflict(error)) return this.addExisting(time);
      this.recordWarning("FailedCreate", `Error creating job: ${(error as Error).message}`);
      throw error;
    }
    const created = new Date(job.metadata.creationTimestamp ?? 0).getTime();
    instruments.observe(creationSkewMetric, {}, Math.max(created - time, 0) / 1000);
    this.recordNormal("SuccessfulCreate", `Created job ${job.metadata.name}`);
    this.addActive(job, time);
  }

  /** Adds the existing Job of this time to `status.active` if this CronJob owns it, e.g. after a crash. */
  private async addExisting(time: number): Promise<void> {
    const { namespace = "" } = this.current.metadata;
    const name = jobNameAt(this.current, time);
    const job = await this.context.client.get(jobResource, { namespace, name });
    if (isControlledBy(job, this.current) && !this.isActive(job)) this.addActive(job, time);
  }

  private async deleteActiveJobs(): Promise<void> {
    for (const { name = "", namespace = "" } of this.status.active ?? []) {
      const at = { namespace, name };
      const job = await this.context.client.get(jobResource, at).catch((error: unknown) => {
        this.recordWarning("FailedGet", `Get job: ${(error as Error).message}`);
        throw error;
      });
      if (!(await this.deleteJob(job))) {
        throw new Error(`could not replace job ${namespace}/${name}`);
      }
    }
  }

  private isActive({ metadata }: Job): boolean {
    return this.status.active?.some(({ uid }) => uid === metadata.uid) ?? false;
  }

  private addActive({ metadata }: Job, time: number): void {
    const { namespace = "", name, uid, resourceVersion } = metadata;
    const { group, version, kind } = jobResource;
    const apiVersion = groupVersionOf(group, version);
    const reference: ActiveJob = { apiVersion, kind, name, namespace, uid, resourceVersion };
    const { active = [], lastScheduleTime } = this.status;
    this.status.active = [...active, reference];
    const isLater = lastScheduleTime === undefined || Date.parse(lastScheduleTime) < time;
    if (isLater) this.status.lastScheduleTime = formatTime(time);
  }

  private removeActive(uid: string): void {
    const { active } = this.status;
    const left = active?.filter((each) => each.uid !== uid) ?? [];
    if (left.length > 0) this.status.active = left;
    else delete this.status.active;
  }

  private recordNormal(reason: string, message: string): void {
    this.context.recorder.record(cronJobResource, this.current, {
      type: "Normal",
      reason,
      message,
    });
  }

  private recordWarning(reason: string, message: string): void {
    this.context.recorder.record(cronJobResource, this.current, {
      type: "Warning",
      reason,
      message,
    });
  }
}

/** Order: start time, unstarted Jobs last; then name. */
function byStartTime(left: Job, right: Job): number {
  const timeOf = ({ status }: Job) =>
    status?.startTime === undefined ? Infinity : Date.parse(status.startTime);
  const [first, second] = [timeOf(left), timeOf(right)];
  if (first !== second) return first < second ? -1 : 1;
  return left.metadata.name < right.metadata.name ? -1 : 1;
}
