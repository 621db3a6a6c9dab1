import { assert } from "#base";
import { StoreFault, type StoreEvent, type WatchBatch, type WatchOptions } from "../backend.ts";
import type { History } from "./history.ts";

/** Number of events at which a batch ends, after a complete revision. */
const batchEvents = 512;

/** The store of a watcher. */
export interface Watched {
  readonly history: History;
  /** Called when the iteration starts. */
  opened(watcher: Watcher): void;
  /** Called when the watcher ends. */
  closed(watcher: Watcher): void;
}

/**
 * A watcher is a position in the shared history and has no buffer: a slow consumer uses no memory, and
 * fails with `too-slow` when its position has been compacted.
 */
export class Watcher implements AsyncIterableIterator<WatchBatch> {
  readonly #store: Watched;
  readonly #signal: AbortSignal;
  readonly #withPrevious: boolean;
  /** The next revision to deliver. */
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
    if (this.#state === "open" && this.#fault === undefined) this.#checkCompacted();
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

  /** Called when the history has grown. */
  wake(): void {
    if (this.#waiting === undefined) return;
    const batch = this.#take();
    if (batch !== undefined) this.#settle()!.resolve({ done: false, value: batch });
  }

  /** Delivers an empty batch as soon as all events have been delivered. */
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

  #checkCompacted(): void {
    if (this.#next < this.#store.history.oldest) this.#fault = new StoreFault({ kind: "too-slow" });
  }

  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  /** The next events, or without events a progress notification if requested, else undefined. */
  #take(): WatchBatch | undefined {
    const { history } = this.#store;
    const events: StoreEvent[] = [];
    const current = history.state.revision;
    for (const transaction of history.transactionsFrom(this.#next)) {
      for (const event of transaction.events) {
        const isUnchanged = this.#withPrevious || event.previous === undefined;
        events.push(isUnchanged ? event : { ...event, previous: undefined });
      }
      this.#next = transaction.revision + 1;
      if (events.length >= batchEvents) break;
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
