import type { Clock } from "#base";
import { type Backend, type StoreEvent, StoreFault, type WatchBatch } from "../backend.ts";
import type { PrefixRouter } from "./prefix-router.ts";

export interface ReflectorLimits {
  /** Timeout in ms of a read that waits for the watch to reach the store's revision. */
  readonly waitMs: number;
  /** Interval in ms at which waiting reads request progress from the store. */
  readonly nudgeMs: number;
}

/** Receives the events of the keys below its prefix. */
export interface EventHandler {
  onEvent(event: StoreEvent): void;
  /** Called when the watch was lost: the handler must list again. */
  onReset(): void;
}

interface StoreReflectorOptions {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: ReflectorLimits;
  /** Handlers by prefix of their keys in the backend. */
  readonly handlers: PrefixRouter<EventHandler>;
  /** Revision after which the first watch starts; absent = the store's current revision. */
  readonly from?: number | undefined;
}

/** A read that waits for a revision. */
interface Waiter {
  readonly revision: number;
  readonly since: number;
  readonly settle: (reached: boolean) => void;
  readonly fail: (fault: StoreFault) => void;
}

export function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}

/**
 * One watch of the whole store for all collections, which are all current up to its revision. Started
 * by the first collection; ends with the backend.
 */
export class StoreReflector {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #limits: ReflectorLimits;
  readonly #handlers: PrefixRouter<EventHandler>;
  #revision = 0;
  #generation = 0;
  #from: number | undefined;
  #state: "new" | "starting" | "running" | "ended" = "new";
  #starting: Promise<void> = Promise.resolve();
  #waiting: Waiter[] = [];
  #nudging = false;

  constructor({ backend, clock, limits, handlers, from }: StoreReflectorOptions) {
    this.#backend = backend;
    this.#clock = clock;
    this.#limits = limits;
    this.#handlers = handlers;
    this.#from = from;
  }

  /** All events up to this revision have been delivered. */
  get revision(): number {
    return this.#revision;
  }

  /** Incremented by every start of the watch; 0 while it does not run. */
  get generation(): number {
    return this.#state === "running" ? this.#generation : 0;
  }

  /** Resolves when the watch runs and delivers the events after `revision`. */
  async running(): Promise<void> {
    if (this.#state === "running") return;
    if (this.#state === "ended") throw new StoreFault({ kind: "closed" });
    if (this.#state === "new") {
      this.#state = "starting";
      this.#starting = this.#start();
    }
    return this.#starting;
  }

  /**
   * Waits until the watch reaches `revision`; false if the watch is lost.
   * @throws StoreFault `timeout` after `waitMs`
   */
  reached(revision: number): boolean | Promise<boolean> {
    if (this.#revision >= revision && this.#state === "running") return true;
    if (this.#state !== "running") return false;
    return new Promise((settle, fail) => {
      this.#waiting.push({ revision, since: this.#clock.monotonic(), settle, fail });
      if (!this.#nudging) void this.#nudge();
    });
  }

  async #start(): Promise<void> {
    try {
      const revision = this.#from ?? (await this.#backend.revision());
      this.#from = undefined;
      const signal = new AbortController().signal;
      const watch = { fromRevision: revision + 1, signal, withPrevious: false };
      const batches = this.#backend.watch(watch);
      this.#revision = revision;
      this.#generation += 1;
      this.#state = "running";
      void this.#follow(batches);
    } catch (error) {
      this.#state = isClosed(error) ? "ended" : "new";
      throw error;
    }
  }

  async #follow(batches: AsyncIterable<WatchBatch>): Promise<void> {
    let closed = true;
    try {
      for await (const batch of batches) this.#deliver(batch);
    } catch (error) {
      closed = isClosed(error);
    }
    // The next read of a collection restarts it.
    this.#state = closed ? "ended" : "new";
    for (const handler of this.#handlers.values) handler.onReset();
    for (const { settle } of this.#waiting.splice(0)) settle(false);
  }

  #deliver({ events, revision }: WatchBatch): void {
    for (const event of events) this.#handlers.find(keyOf(event))?.onEvent(event);
    this.#revision = Math.max(this.#revision, revision);
    if (this.#waiting.length > 0) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ revision }) => revision > this.#revision);
    for (const { revision, settle } of waiting) if (revision <= this.#revision) settle(true);
  }

  /** While reads wait: requests progress from the store, and fails reads that wait too long. */
  async #nudge(): Promise<void> {
    this.#nudging = true;
    const { waitMs, nudgeMs } = this.#limits;
    while (this.#waiting.length > 0) {
      await this.#clock.sleep(nudgeMs, undefined, { background: true });
      const now = this.#clock.monotonic();
      const expired = this.#waiting.filter(({ since }) => now - since >= waitMs);
      if (expired.length > 0) {
        this.#waiting = this.#waiting.filter((waiting) => !expired.includes(waiting));
        const message = `the cache has not reached revision ${expired[0]!.revision}`;
        const fault = new StoreFault({ kind: "timeout", message, maybeApplied: false });
        for (const { fail } of expired) fail(fault);
      }
      if (this.#waiting.length > 0) this.#backend.requestProgress();
    }
    this.#nudging = false;
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof StoreFault && error.detail.kind === "closed";
}
