import { assert } from "#base";
import { StoreFault, type StoreEvent, type WatchBatch, type WatchOptions } from "../backend.ts";
import type { History } from "./history.ts";

/** A batch ends with the revision that brings it to this many events. */
const BATCH_EVENTS = 512;

/** What a watcher needs of its store. */
export interface Watched {
  readonly history: History;
  /** The iteration has begun. */
  opened(watcher: Watcher): void;
  /** The watcher is done and can be forgotten. */
  closed(watcher: Watcher): void;
}

/**
 * A watch is a place in the shared history, so it has no buffer of its own: a slow consumer costs
 * nothing, until the history it still needs is forgotten (`too-slow`).
 */
export class Watcher implements AsyncIterableIterator<WatchBatch> {
  readonly #store: Watched;
  readonly #signal: AbortSignal;
  readonly #withPrevious: boolean;
  /** The first revision that was not looked at yet. */
  #next: number;
  #state: "new" | "open" | "done" = "new";
  #progressWanted = false;
  #fault: StoreFault | undefined;
  #waiting: Waiting | undefined;

  constructor(store: Watched, options: WatchOptions) {
    this.#store = store;
    this.#signal = options.signal;
    this.#withPrevious = options.withPrevious ?? true;
    this.#next = options.fromRevision;
    if (this.#next < store.history.oldest) {
      this.#fault = new StoreFault({ kind: "compacted", oldest: store.history.oldest });
    }
  }

  next(): Promise<IteratorResult<WatchBatch, undefined>> {
    assert(this.#waiting === undefined, "one consumer at a time");
    if (this.#state === "new") this.#open();
    if (this.#state === "open" && this.#fault === undefined) this.#checkPace();
    if (this.#fault !== undefined) {
      const fault = this.#fault;
      this.#fault = undefined;
      this.#close();
      return Promise.reject(fault);
    }
    if (this.#state === "done") return Promise.resolve({ done: true, value: undefined });
    const batch = this.#take();
    if (batch !== undefined) return Promise.resolve({ done: false, value: batch });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<WatchBatch, undefined>> {
    this.#close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The history has grown. */
  wake(): void {
    if (this.#waiting === undefined) return;
    const batch = this.#take();
    if (batch !== undefined) this.#settle()!.resolve({ done: false, value: batch });
  }

  /** Deliver an empty batch as soon as nothing else is left to deliver. */
  wantProgress(): void {
    this.#progressWanted = true;
    this.wake();
  }

  /** Ends the watch with a fault. */
  fail(fault: StoreFault): void {
    const waiting = this.#settle();
    this.#close();
    if (waiting !== undefined) waiting.reject(fault);
    else this.#fault = fault;
  }

  #open(): void {
    if (this.#signal.aborted) {
      this.#state = "done";
      this.#fault = undefined;
      return;
    }
    this.#state = "open";
    this.#signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#store.opened(this);
  }

  readonly #onAbort = (): void => this.#close();

  #close(): void {
    if (this.#state === "open") {
      this.#signal.removeEventListener("abort", this.#onAbort);
      this.#store.closed(this);
    }
    this.#state = "done";
    this.#settle()?.resolve({ done: true, value: undefined });
  }

  #checkPace(): void {
    if (this.#next < this.#store.history.oldest) this.#fault = new StoreFault({ kind: "too-slow" });
  }

  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  /** The next events, or progress if that is wanted and there are none; else undefined. */
  #take(): WatchBatch | undefined {
    const { history } = this.#store;
    const events: StoreEvent[] = [];
    const current = history.state.revision;
    for (const moment of history.momentsFrom(this.#next)) {
      for (const event of moment.events) {
        const isWhole = this.#withPrevious || event.previous === undefined;
        events.push(isWhole ? event : { ...event, previous: undefined });
      }
      this.#next = moment.revision + 1;
      if (events.length >= BATCH_EVENTS) break;
    }
    if (events.length > 0) return { events, revision: this.#next - 1 };
    if (!this.#progressWanted) return undefined;
    this.#progressWanted = false;
    return { events, revision: current };
  }
}

interface Waiting {
  readonly resolve: (result: IteratorResult<WatchBatch, undefined>) => void;
  readonly reject: (fault: StoreFault) => void;
}
