/** Jobs that a CronJob creates, and their names. */
import type { Draft } from "#client";
import { type CronJob, cronJobs, type Job } from "#kinds";
import { type Domain, resolve } from "#meta";
import { controllerRef } from "../../owners/controller-ref.ts";
import { TimeZone } from "./time-zone.ts";

const minuteMs = 60_000;

/** Name of the Job of a scheduled time (ms since 1970); deterministic, so that no time gets two Jobs. */
export function jobNameAt({ metadata }: CronJob, time: number): string {
  return `${metadata.name}-${Math.floor(time / minuteMs)}`;
}

/** The Job of a CronJob for a scheduled time in milliseconds since 1970. */
export function newJob(cronJob: CronJob, time: number, domain: Domain): Draft<Job> {
  const { jobTemplate, timeZone = "UTC" } = cronJob.spec;
  const { labels, annotations } = jobTemplate.metadata ?? {};
  const scheduled = formatZonedTime(time, timeZone);
  return {
    metadata: {
      namespace: cronJob.metadata.namespace ?? "",
      name: jobNameAt(cronJob, time),
      labels: { ...labels },
      annotations: { ...annotations, [scheduledAnnotation(domain)]: scheduled },
      ownerReferences: [controllerRef(cronJobs, cronJob)],
    },
    spec: jobTemplate.spec,
  };
}

/**
 * Scheduled time of a Job that this CronJob has created, in milliseconds since 1970; undefined = created
 * by another client.
 */
export function scheduledTimeOf(
  cronJob: CronJob,
  { metadata }: Job,
  domain: Domain,
): number | undefined {
  const time = Date.parse(metadata.annotations?.[scheduledAnnotation(domain)] ?? "");
  return !Number.isNaN(time) && jobNameAt(cronJob, time) === metadata.name ? time : undefined;
}

function scheduledAnnotation(domain: Domain): string {
  return resolve("batch.{label}/cronjob-scheduled-timestamp", domain);
}

/** RFC 3339 in a time zone: `2024-07-01T02:00:00+02:00`. */
function formatZonedTime(ms: number, timeZone: string): string {
  const offsetMs = TimeZone.of(timeZone === "Local" ? undefined : timeZone).offsetAt(ms);
  const text = new Date(ms + offsetMs).toISOString().slice(0, "2024-07-01T02:00:00".length);
  if (offsetMs === 0) return `${text}Z`;
  const minutes = Math.abs(offsetMs) / minuteMs;
  const two = (number: number) => String(Math.floor(number)).padStart(2, "0");
  return `${text}${offsetMs < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
