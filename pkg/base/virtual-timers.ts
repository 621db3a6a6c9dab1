/** Timers of a virtual clock. */
import type { SleepOptions } from "./clock.ts";

export interface VirtualTimer {
  /** Time in ms at which the timer fires. */
  at: number;
  /** Duration of the sleep in ms, the period of periodic work. */
  readonly ms: number;
  readonly options: SleepOptions;
  readonly fire: () => void;
}

/**
 * Pending timers of three kinds: those at which time stops, those that may be idle, and late ones, which
 * fire when time stops for another reason.
 */
export class VirtualTimers {
  private readonly exact = new TimerQueue();
  private readonly idling = new Set<VirtualTimer>();
  private readonly coalesced = new Set<VirtualTimer>();

  /** Adds a timer. Returns the function that cancels it. */
  add(timer: VirtualTimer): () => void {
    const { coalesce, idleUntil } = timer.options;
    if (coalesce !== true && idleUntil === undefined) return this.exact.add(timer);
    const timers = coalesce === true ? this.coalesced : this.idling;
    timers.add(timer);
    return () => timers.delete(timer);
  }

  /**
   * The moment at which time has to stop next, `end` at the latest. Moves timers that are idle until then on
   * by whole periods.
   */
  nextStop(end: number): number {
    let stop = Math.min(end, this.exact.next);
    for (const timer of this.idling) if (timer.at <= stop) stop = Math.min(stop, wakeOf(timer));
    for (const timer of this.idling) if (timer.at < stop) timer.at = firstPeriodFrom(timer, stop);
    return stop;
  }

  /** Removes the late timers that are due. */
  takeCoalesced(now: number): readonly VirtualTimer[] {
    return taken(this.coalesced, ({ at }) => at <= now);
  }

  /** Removes the other timers that are due. */
  takeDue(now: number): readonly VirtualTimer[] {
    const awake = taken(this.idling, (timer) => timer.at <= now && wakeOf(timer) <= now);
    return this.exact.next <= now ? [...this.exact.take(), ...awake] : awake;
  }
}

/** The end of the first period at which the work may not be idle. */
function wakeOf(timer: VirtualTimer): number {
  return firstPeriodFrom(timer, timer.options.idleUntil?.() ?? timer.at);
}

function firstPeriodFrom({ at, ms }: VirtualTimer, moment: number): number {
  if (moment <= at) return at;
  return at + Math.ceil((moment - at) / Math.max(ms, 1)) * Math.max(ms, 1);
}

function taken(
  timers: Set<VirtualTimer>,
  isTaken: (timer: VirtualTimer) => boolean,
): readonly VirtualTimer[] {
  const found = [...timers].filter(isTaken);
  for (const timer of found) timers.delete(timer);
  return found;
}

/** Timers ordered by time, then by start. */
class TimerQueue {
  private readonly timers = new Map<number, Set<VirtualTimer>>();
  /** Keys of `timers`, the latest first. */
  private readonly moments: number[] = [];

  /** The earliest moment of a timer; Infinity without one. */
  get next(): number {
    for (let at = this.moments.at(-1); at !== undefined; at = this.moments.at(-1)) {
      if (this.timers.get(at)!.size > 0) return at;
      this.timers.delete(at);
      this.moments.pop();
    }
    return Infinity;
  }

  /** Adds a timer. Returns the function that cancels it. */
  add(timer: VirtualTimer): () => void {
    const { at } = timer;
    let timers = this.timers.get(at);
    if (timers === undefined) {
      timers = new Set();
      this.timers.set(at, timers);
      this.moments.splice(this.placeOf(at), 0, at);
    }
    timers.add(timer);
    return () => timers.delete(timer);
  }

  /** Removes the timers of the earliest moment. */
  take(): Iterable<VirtualTimer> {
    const at = this.next;
    const timers = this.timers.get(at)!;
    this.timers.delete(at);
    this.moments.pop();
    return timers;
  }

  private placeOf(at: number): number {
    let [low, high] = [0, this.moments.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.moments[middle]! > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
