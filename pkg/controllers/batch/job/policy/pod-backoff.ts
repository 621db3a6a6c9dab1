/** Backoff after failed pods of Jobs. */
import type { Pod } from "#kinds";
import { finishTimeOf } from "./finish-time.ts";

const firstDelayMs = 10_000;
const maxDelayMs = 600_000;

/** Failures of a Job since its last success. */
export interface BackoffRecord {
  readonly failures: number;
  /** Time of the last failure in milliseconds since 1970; undefined = none. */
  readonly lastFailure: number | undefined;
}

const noFailures: BackoffRecord = { failures: 0, lastFailure: undefined };

/** Failures per Job, in memory: after a restart only uncounted failures are known. */
export class PodBackoffs {
  private readonly records = new Map<string, BackoffRecord>();

  /** Record of a Job including newly finished pods; the caller stores it by `set` after the status update. */
  next(key: string, succeeded: readonly Pod[], failed: readonly Pod[]): BackoffRecord {
    const record = this.records.get(key) ?? noFailures;
    const failures = failed.map(finishTimeOf);
    if (succeeded.length === 0) {
      if (failures.length === 0) return record;
      return {
        failures: record.failures + failures.length,
        lastFailure: failures.reduce((a, b) => Math.max(a, b)),
      };
    }
    const lastSuccess = succeeded.map(finishTimeOf).reduce((a, b) => Math.max(a, b));
    const later = failures.filter((time) => time > lastSuccess);
    if (later.length === 0) return noFailures;
    return { failures: later.length, lastFailure: later.reduce((a, b) => Math.max(a, b)) };
  }

  set(key: string, record: BackoffRecord): void {
    if (record.failures === 0) this.records.delete(key);
    else this.records.set(key, record);
  }

  remove(key: string): void {
    this.records.delete(key);
  }
}

/** Milliseconds until the next pod may be created: 10 s after one failure, doubling up to 10 min. */
export function remainingDelay({ failures, lastFailure }: BackoffRecord, now: number): number {
  if (failures === 0 || lastFailure === undefined) return 0;
  const delayMs = Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs);
  return Math.max(delayMs - (now - lastFailure), 0);
}
