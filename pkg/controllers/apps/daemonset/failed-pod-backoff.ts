import type { Clock } from "#base";
import { setBounded } from "#base";

const firstMs = 1_000;
const longestMs = 900_000;
const mostNodes = 65_536;

interface Entry {
  readonly delayMs: number;
  readonly since: number;
}

/** Delays between deletions of failed daemons, by DaemonSet and node: 1 s, doubling up to 15 min. */
export class FailedPodBackoff {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly clock: Clock) {}

  /** Milliseconds until the next deletion; 0 = it may be now, and the next one waits longer. */
  next(key: string): number {
    const now = this.clock.monotonic();
    const before = this.entries.get(key);
    const passed = before === undefined ? Infinity : now - before.since;
    if (before !== undefined && passed < before.delayMs) return before.delayMs - passed;
    const isForgotten = before === undefined || passed > 2 * longestMs;
    const delayMs = isForgotten ? firstMs : Math.min(longestMs, before.delayMs * 2);
    this.entries.delete(key);
    setBounded(this.entries, [key, { delayMs, since: now }], mostNodes);
    return 0;
  }
}
