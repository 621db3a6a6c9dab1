import { assert } from "./assert.ts";
import { isYielding } from "./async/yield-every.ts";
import { type Clock, type SleepOptions, systemClock } from "./clock.ts";
import { type VirtualTimer, VirtualTimers } from "./virtual-timers.ts";

export interface VirtualClockOptions {
  /** Start time; default now. */
  readonly start?: Date | string | number;
  /**
   * Operations (requests, synced keys, fired timers) that the server may perform at one moment, before
   * it counts as never coming to rest; default 250,000.
   */
  readonly maxOperations?: number;
  /** Real time in ms to wait for one operation that holds time; default 30,000. */
  readonly maxHoldMs?: number;
}

/** Number of turns of the event loop without an operation after which the server is at rest. */
const quietTurns = 3;
/** Number of operations that the error of a server that does not come to rest names. */
const maxNamedOperations = 5;

/**
 * A clock whose time moves only by `advance` and `advanceTo`, for tests of servers in this process:
 * `startServer({ clock })`. Timers fire in order of time, but for those that `SleepOptions` excepts.
 * Between two moments the clock waits until the server is at rest: no operation holds time, no long
 * work waits for its turn, and some turns of the event loop have passed in which no operation began.
 */
export class VirtualClock implements Clock {
  /** Deadlines of connections and latencies stay in real time. */
  readonly real = systemClock;
  #now: number;
  readonly #timers = new VirtualTimers();
  readonly #maxOperations: number;
  readonly #maxHoldMs: number;
  #isAdvancing = false;
  /** Number of operations since time last advanced, by name. */
  readonly #operations = new Map<string, number>();
  #operationCount = 0;
  /** Operations that hold time, by name. */
  readonly #held = new Map<string, number>();
  #onRelease: (() => void) | undefined;

  constructor({ start, maxOperations, maxHoldMs }: VirtualClockOptions = {}) {
    this.#now = start === undefined ? systemClock.now() : new Date(start).getTime();
    if (Number.isNaN(this.#now)) throw new RangeError(`invalid start of a clock: ${start}`);
    this.#maxOperations = maxOperations ?? 250_000;
    this.#maxHoldMs = maxHoldMs ?? 30_000;
  }

  now(): number {
    return this.#now;
  }

  nowMicros(): number {
    return this.#now * 1000;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal, options: SleepOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const fire = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const whole = Math.max(0, Math.ceil(ms));
      const cancel = this.#timers.add({ at: this.#now + whole, ms: whole, options, fire });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  note(operation: string): void {
    this.#operationCount++;
    this.#operations.set(operation, (this.#operations.get(operation) ?? 0) + 1);
  }

  hold(operation: string): () => void {
    this.note(operation);
    this.#held.set(operation, (this.#held.get(operation) ?? 0) + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const left = this.#held.get(operation)! - 1;
      if (left > 0) this.#held.set(operation, left);
      else this.#held.delete(operation);
      this.#onRelease?.();
    };
  }

  /** Advances time by `ms` milliseconds; see `advanceTo`. */
  advance(ms: number): Promise<void> {
    return this.advanceTo(this.#now + ms);
  }

  /**
   * Moves time to `date`, firing the timers on the way. Resolves when the server is at rest. Rejects
   * if the date is in the past, if time is being moved already, and if the server does not come to rest.
   */
  async advanceTo(date: Date | string | number): Promise<void> {
    const end = new Date(date).getTime();
    if (!(end >= this.#now)) {
      throw new RangeError(`time cannot move from ${this.#text()} to ${String(date)}`);
    }
    await this.#exclusively(async () => {
      await this.#untilAtRest();
      for (let isOver = false; !isOver;) {
        const stop = this.#timers.nextStop(end);
        if (stop > this.#now) this.#moveTo(stop);
        await this.#fire(this.#timers.takeCoalesced(this.#now));
        const due = this.#timers.takeDue(this.#now);
        await this.#fire(due);
        isOver = due.length === 0 && this.#now >= end;
      }
    });
  }

  async #fire(timers: readonly VirtualTimer[]): Promise<void> {
    for (const { fire } of timers) {
      this.note("timers");
      fire();
      // What it sets off may cancel the next one.
      await nextTurn();
    }
    if (timers.length > 0) await this.#untilAtRest();
  }

  /** Resolves when the server is at rest, without moving time. */
  async settle(): Promise<void> {
    await this.#exclusively(() => this.#untilAtRest());
  }

  async #exclusively(work: () => Promise<void>): Promise<void> {
    if (this.#isAdvancing) throw new Error("the clock is being advanced already");
    this.#isAdvancing = true;
    this.#forgetOperations();
    try {
      await work();
    } finally {
      this.#isAdvancing = false;
    }
  }

  #moveTo(time: number): void {
    assert(time > this.#now, "time never goes backward");
    this.#now = time;
    this.#forgetOperations();
  }

  #forgetOperations(): void {
    this.#operations.clear();
    this.#operationCount = 0;
  }

  async #untilAtRest(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < quietTurns;) {
      if (this.#operationCount > this.#maxOperations) throw this.#neverAtRest();
      if (this.#held.size > 0) await this.#released();
      else await nextTurn();
      const isQuiet = seen === this.#operationCount && this.#held.size === 0 && !isYielding();
      quiet = isQuiet ? quiet + 1 : 0;
      seen = this.#operationCount;
    }
  }

  /** Resolves when some operation no longer holds time. */
  async #released(): Promise<void> {
    const late = new AbortController();
    const released = new Promise<void>((resolve) => (this.#onRelease = resolve));
    const limit = systemClock.sleep(this.#maxHoldMs, late.signal).then(
      () => {
        throw new Error(
          `time has stood still at ${this.#text()} for ${this.#maxHoldMs} ms, waiting for ` +
            listed(this.#held),
        );
      },
      () => undefined,
    );
    await Promise.race([released, limit]);
    late.abort();
    this.#onRelease = undefined;
  }

  #neverAtRest(): Error {
    const most = [...this.#operations].sort(([, a], [, b]) => b - a).slice(0, maxNamedOperations);
    return new Error(
      `the server has not come to rest at ${this.#text()}: ${this.#operationCount} operations while ` +
        `time stood still, most often ${listed(most)}`,
    );
  }

  #text(): string {
    return new Date(this.#now).toISOString();
  }
}

function listed(counts: Iterable<readonly [string, number]>): string {
  return [...counts].map(([operation, count]) => `${operation} (${count})`).join(", ");
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
