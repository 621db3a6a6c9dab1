import type { Clock } from "#base";
import { type Backend, type StoreEvent, StoreFault, type WatchBatch } from "../backend.ts";

export interface ReflectorLimits {
  /** How long a reader waits for the feed to come up to a revision that the store has told. */
  readonly waitMs: number;
  /** After so long without it, the store is asked for progress. */
  readonly nudgeMs: number;
}

/** Takes the events whose keys begin with its prefix. */
export interface EventHandler {
  /** As in the backend. */
  readonly prefix: string;
  onEvent(event: StoreEvent): void;
  /** The feed begins anew; everything that was received before is worth nothing. */
  onReset(): void;
}

interface Waiting {
  readonly revision: number;
  readonly since: number;
  readonly settle: (reached: boolean) => void;
  readonly fail: (fault: StoreFault) => void;
}

export function keyOf(event: StoreEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}

/**
 * One watch of the whole store for all collections: its position says how far every one of them is
 * complete. Begins with the first collection and ends with the backend.
 */
export class StoreReflector {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #limits: ReflectorLimits;
  readonly #sinks = new Map<string, EventHandler>();
  /** Slashes in the longest prefix. */
  #depth = 0;
  #revision = 0;
  #generation = 0;
  #state: "new" | "starting" | "running" | "ended" = "new";
  #starting: Promise<void> = Promise.resolve();
  #waiting: Waiting[] = [];
  #nudging = false;

  constructor(backend: Backend, clock: Clock, limits: ReflectorLimits) {
    this.#backend = backend;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Everything up to here has been delivered. */
  get revision(): number {
    return this.#revision;
  }

  /** Grows with every beginning; 0 while the feed does not run. */
  get generation(): number {
    return this.#state === "running" ? this.#generation : 0;
  }

  add(sink: EventHandler): void {
    this.#sinks.set(sink.prefix, sink);
    this.#depth = Math.max(this.#depth, sink.prefix.split("/").length - 1);
  }

  /** Resolves when events are delivered from `revision` on. */
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
   * Whether the feed came as far as `revision`; false when it began anew instead. Throws `timeout`
   * when it takes too long.
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
      const revision = await this.#backend.revision();
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
    // Whoever needs it next starts it again.
    this.#state = closed ? "ended" : "new";
    for (const sink of this.#sinks.values()) sink.onReset();
    for (const { settle } of this.#waiting.splice(0)) settle(false);
  }

  #deliver({ events, revision }: WatchBatch): void {
    for (const event of events) this.#route(event);
    this.#revision = Math.max(this.#revision, revision);
    if (this.#waiting.length > 0) this.#wake();
  }

  #route(event: StoreEvent): void {
    const key = keyOf(event);
    let slash = 0;
    for (let depth = 1; depth < this.#depth; depth++) {
      slash = key.indexOf("/", slash + 1);
      if (slash < 0) return;
      const sink = this.#sinks.get(key.slice(0, slash + 1));
      if (sink !== undefined) return sink.onEvent(event);
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ revision }) => revision > this.#revision);
    for (const { revision, settle } of waiting) if (revision <= this.#revision) settle(true);
  }

  /** While somebody waits: asks the store for progress, and gives up on those who wait too long. */
  async #nudge(): Promise<void> {
    this.#nudging = true;
    const { waitMs, nudgeMs } = this.#limits;
    while (this.#waiting.length > 0) {
      await this.#clock.sleep(nudgeMs, undefined, { background: true });
      const now = this.#clock.monotonic();
      const late = this.#waiting.filter(({ since }) => now - since >= waitMs);
      if (late.length > 0) {
        this.#waiting = this.#waiting.filter((waiting) => !late.includes(waiting));
        const message = `the cache has not come to revision ${late[0]!.revision}`;
        const fault = new StoreFault({ kind: "timeout", message, maybeApplied: false });
        for (const { fail } of late) fail(fault);
      }
      if (this.#waiting.length > 0) this.#backend.requestProgress();
    }
    this.#nudging = false;
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof StoreFault && error.detail.kind === "closed";
}
