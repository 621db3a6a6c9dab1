import { assert } from "#base";
import { type StoreEvent, StoreFault, type WatchBatch } from "../../backend.ts";
import { revisionOfEvent } from "./store-event.ts";
import type { EventChunk } from "./watch-stream.ts";

export interface EventBufferLimits {
  /** Bytes of history that are always buffered, for watchers that start at a recent revision. */
  readonly historyBytes: number;
  /** Bytes that are buffered for a slow reader before it fails with `too-slow`. */
  readonly lagBytes: number;
  /** Approximate number of events in a batch: a batch ends with a whole chunk. */
  readonly batchEvents: number;
}

/** Factor above the size limit at which the buffer is trimmed, to avoid trimming on every event. */
const capacityLeeway = 17 / 16;

/** A position in the buffer. */
interface Reader {
  /** The next revision to deliver. */
  cursor: number;
  waiting: Waiter | undefined;
  /** Fault that ended the reader. */
  fault: StoreFault | undefined;
}

interface Waiter {
  /** "retry" = collect from the buffer again. */
  readonly resolve: (batch: WatchBatch | "retry") => void;
  readonly reject: (fault: StoreFault) => void;
}

interface BufferedChunk extends EventChunk {
  /** Revision of the first event. */
  readonly first: number;
}

/**
 * The recent events of the store, shared by all watchers of a backend. Readers pull from it at different
 * speeds and have no queues.
 *
 *     chunks      [5..7] [8] [9..12]        oldest = 5, revision = 12
 *     reader A    cursor 13, waiting        woken by the next chunk
 *     reader B    cursor 8                  its next batch is 8..12
 *     reader C    cursor 3                  fails with too-slow: 3..4 were dropped
 *
 * A waiting reader has received all events; its cursor is updated when it is woken.
 */
export class EventBuffer {
  readonly #limits: EventBufferLimits;
  readonly #readers = new Set<Reader>();
  readonly #waiting = new Set<Reader>();
  #chunks: BufferedChunk[] = [];
  #bytes = 0;
  #oldest: number;
  #revision: number;
  #compacted = 0;
  #ended = false;
  #onMove: (() => void)[] = [];

  /** Creates an empty buffer for the events after `revision`. */
  constructor(revision: number, limits: EventBufferLimits) {
    this.#limits = limits;
    this.#revision = revision;
    this.#oldest = revision + 1;
  }

  /** All events up to this revision have been appended. */
  get revision(): number {
    return this.#revision;
  }

  /** First revision at which a reader can start. */
  get oldest(): number {
    return Math.max(this.#oldest, Math.min(this.#compacted, this.#revision + 1));
  }

  /** Called after a compaction: new readers must start at `revision` or later; others continue. */
  noteCompaction(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision);
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** True after `fail`. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the buffer grows or ends. */
  moved(): Promise<void> {
    return new Promise((resolve) => this.#onMove.push(resolve));
  }

  append(chunk: EventChunk): void {
    if (chunk.revision <= this.#revision) return;
    this.#revision = chunk.revision;
    this.#resolveMoved();
    const [event] = chunk.events;
    if (event === undefined) return;
    const first = revisionOfEvent(event);
    this.#chunks.push({ ...chunk, first });
    this.#bytes += chunk.bytes;
    for (const reader of this.#waiting) {
      reader.cursor = Math.max(reader.cursor, first);
      reader.waiting?.resolve("retry");
      reader.waiting = undefined;
    }
    this.#waiting.clear();
    this.#trim();
  }

  /** Delivers the buffer's revision to every waiting reader, as an empty batch. */
  notifyProgress(): void {
    for (const reader of this.#waiting) {
      const { waiting } = reader;
      reader.waiting = undefined;
      reader.cursor = Math.max(reader.cursor, this.#revision + 1);
      waiting?.resolve({ events: [], revision: this.#revision });
    }
    this.#waiting.clear();
  }

  /** Ends all readers with this fault. */
  fail(fault: StoreFault): void {
    this.#ended = true;
    this.#resolveMoved();
    for (const reader of this.#readers) {
      reader.fault = fault;
      reader.waiting?.reject(fault);
    }
    this.#waiting.clear();
    this.#readers.clear();
  }

  /** Batches from `fromRevision` (at least `oldest`) until the signal aborts. */
  async *read(
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    assert(fromRevision >= this.#oldest, "a reader starts inside the buffer");
    const reader: Reader = { cursor: fromRevision, waiting: undefined, fault: undefined };
    const onAbort = (): void => this.#release(reader);
    this.#readers.add(reader);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const batch = this.#collect(reader) ?? (await this.#wait(reader));
        if (batch === "retry") continue;
        yield batch;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#release(reader);
      this.#readers.delete(reader);
    }
  }

  /** The events from the reader's cursor on; undefined if there are none. */
  #collect(reader: Reader): WatchBatch | undefined {
    if (reader.fault !== undefined) throw reader.fault;
    if (reader.cursor < this.#oldest) throw new StoreFault({ kind: "too-slow" });
    const { cursor } = reader;
    const start = this.#indexOf(cursor);
    const events: StoreEvent[] = [];
    let through = this.#revision;
    for (let index = start; index < this.#chunks.length; index += 1) {
      const chunk = this.#chunks[index] as BufferedChunk;
      for (const event of chunk.events) {
        if (chunk.first >= cursor || revisionOfEvent(event) >= cursor) events.push(event);
      }
      if (events.length >= this.#limits.batchEvents) {
        through = chunk.revision;
        break;
      }
    }
    reader.cursor = Math.max(cursor, through + 1);
    return events.length === 0 ? undefined : { events, revision: through };
  }

  #wait(reader: Reader): Promise<WatchBatch | "retry"> {
    this.#waiting.add(reader);
    return new Promise((resolve, reject) => {
      reader.waiting = { resolve, reject };
    });
  }

  #resolveMoved(): void {
    for (const resolve of this.#onMove.splice(0)) resolve();
  }

  #release(reader: Reader): void {
    const { waiting } = reader;
    reader.waiting = undefined;
    this.#waiting.delete(reader);
    waiting?.resolve("retry");
  }

  #trim(): void {
    const { historyBytes, lagBytes } = this.#limits;
    if (this.#bytes <= historyBytes * capacityLeeway) return;
    const needed = this.#slowest();
    let dropped = 0;
    while (dropped < this.#chunks.length - 1) {
      const chunk = this.#chunks[dropped] as BufferedChunk;
      const isNeeded = chunk.revision >= needed;
      if (this.#bytes <= (isNeeded ? lagBytes : historyBytes)) break;
      this.#bytes -= chunk.bytes;
      this.#oldest = chunk.revision + 1;
      dropped += 1;
    }
    if (dropped > 0) this.#chunks.splice(0, dropped);
  }

  /** The smallest cursor of the active readers; Infinity if there are none. */
  #slowest(): number {
    let slowest = Infinity;
    for (const reader of this.#readers) {
      if (reader.waiting !== undefined || reader.cursor < this.#oldest) continue;
      slowest = Math.min(slowest, reader.cursor);
    }
    return slowest;
  }

  /** Index of the first chunk that ends at `revision` or later. */
  #indexOf(revision: number): number {
    let high = this.#chunks.length;
    // Most readers are woken by the newest chunk and start there.
    let low = (this.#chunks.at(-2)?.revision ?? Infinity) < revision ? high - 1 : 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle] as BufferedChunk).revision < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
