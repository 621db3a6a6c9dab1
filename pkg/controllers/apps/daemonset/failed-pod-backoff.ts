import type { Clock } from "#base";
import { setBounded } from "#base";

const firstMs = 1_000;
const maxMs = 900_000;
const maxEntries = 65_536;

interface Entry {
  readonly delayMs: number;
  readonly since: number;
}

/** Backoff of deletions of failed daemon pods, per DaemonSet and node: 1 s, doubling up to 15 min. */
export class FailedPodBackoff {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly clock: Clock) {}

  /** Milliseconds until a pod may be deleted; 0 = now, which doubles the delay of the next deletion. */
  next(key: string): number {
    const now = this.clock.monotonic();
    const before = this.entries.get(key);
    const passed = before === undefined ? Infinity : now - before.since;
    if (before !== undefined && passed < before.delayMs) return before.delayMs - passed;
    const isExpired = before === undefined || passed > 2 * maxMs;
    const delayMs = isExpired ? firstMs : Math.min(maxMs, before.delayMs * 2);
    this.entries.delete(key);
    setBounded(this.entries, [key, { delayMs, since: now }], maxEntries);
    return 0;
  }
}
