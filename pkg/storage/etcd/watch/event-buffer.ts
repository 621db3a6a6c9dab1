import { assert } from "#base";
import { StoreFault, type StoreEvent } from "../../backend.ts";
import { keyOfEvent, revisionOfEvent } from "./store-event.ts";
import type { EventChunk } from "./watch-stream.ts";

export interface EventBufferLimits {
  /** Kept always, so that a watch from a moment ago needs nothing from etcd; bytes. */
  readonly historyBytes: number;
  /** Kept while a reader lags; one that lags more is cut off with `too-slow`; bytes. */
  readonly lagBytes: number;
  /** Events in one batch, about: a batch ends with a whole chunk. */
  readonly batchEvents: number;
}

export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

export interface Batch {
  readonly events: readonly StoreEvent[];
  readonly revision: number;
}

/** How far the history outgrows its size before it is cut back, so that not every event does. */
const LEEWAY = 17 / 16;

/** A place in the log that moves only by `next`. */
interface Reader {
  readonly range: KeyRange;
  readonly wants: (event: StoreEvent) => boolean;
  /** First revision not delivered yet. */
  cursor: number;
  waiting: Waiting | undefined;
  /** Why it was ended. */
  fault: StoreFault | undefined;
}

/** The waiting readers of one range. */
interface WaitingReaders {
  readonly wants: (event: StoreEvent) => boolean;
  readonly readers: Set<Reader>;
}

interface Waiting {
  readonly resolve: (batch: Batch | "look") => void;
  readonly reject: (fault: StoreFault) => void;
}

interface BufferedChunk extends EventChunk {
  /** Of the first event. */
  readonly first: number;
}

/**
 * The newest part of the store's history, shared by all watchers of a backend. Chunks come in at
 * one end; each reader pulls at its own pace, so nobody has a queue of their own.
 *
 *     chunks      [5..7] [8] [9..12]        oldest = 5, position = 12
 *     reader A    cursor 13, waiting        woken by the next chunk that has a key of its range
 *     reader B    cursor 8                  its next batch is what it asked for of 8..12
 *     reader C    cursor 3                  too slow: 3..4 were let go
 *
 * A waiting reader has seen everything, so its cursor is not kept up to date until it is woken.
 */
export class EventBuffer {
  readonly #limits: EventBufferLimits;
  readonly #readers = new Set<Reader>();
  /** Waiting readers by range: one comparison per event and range, not per reader. */
  readonly #waiting = new Map<string, WaitingReaders>();
  #chunks: BufferedChunk[] = [];
  #bytes = 0;
  #oldest: number;
  #position: number;
  #forgotten = 0;
  #ended = false;
  #onMove: (() => void)[] = [];

  /** Empty, with everything up to `position` in the past. */
  constructor(position: number, limits: EventBufferLimits) {
    this.#limits = limits;
    this.#position = position;
    this.#oldest = position + 1;
  }

  /** The history is complete up to here. */
  get revision(): number {
    return this.#position;
  }

  /** First revision that a reader can start from. */
  get oldest(): number {
    return Math.max(this.#oldest, Math.min(this.#forgotten, this.#position + 1));
  }

  /** New readers start at `revision` or later; those there are go on. */
  noteCompaction(revision: number): void {
    this.#forgotten = Math.max(this.#forgotten, revision);
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** True after `fail`. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the log grows or ends. */
  moved(): Promise<void> {
    return new Promise((resolve) => this.#onMove.push(resolve));
  }

  append(chunk: EventChunk): void {
    if (chunk.revision <= this.#position) return;
    this.#position = chunk.revision;
    this.#tellMoved();
    const [event] = chunk.events;
    if (event === undefined) return;
    const first = revisionOfEvent(event);
    this.#chunks.push({ ...chunk, first });
    this.#bytes += chunk.bytes;
    this.#wake(chunk.events, first);
    this.#trim();
  }

  /** Tells every waiting reader how far the history is complete. */
  notifyProgress(): void {
    for (const { readers } of this.#waiting.values()) {
      for (const reader of readers) {
        const { waiting } = reader;
        reader.waiting = undefined;
        reader.cursor = Math.max(reader.cursor, this.#position + 1);
        waiting?.resolve({ events: [], revision: this.#position });
      }
    }
    this.#waiting.clear();
  }

  /** Ends all readers with this fault, waiting or not. */
  fail(fault: StoreFault): void {
    this.#ended = true;
    this.#tellMoved();
    for (const reader of this.#readers) {
      reader.fault = fault;
      reader.waiting?.reject(fault);
    }
    this.#waiting.clear();
    this.#readers.clear();
  }

  /** Batches of the range from `fromRevision` (at least `oldest`) until the signal aborts. */
  async *read(
    range: KeyRange,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<Batch, void, undefined> {
    assert(fromRevision >= this.#oldest, "a reader starts inside the log");
    const wants = inRange(range);
    const start = { cursor: fromRevision, waiting: undefined, fault: undefined };
    const reader: Reader = { range, wants, ...start };
    const onAbort = (): void => this.#release(reader);
    this.#readers.add(reader);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const batch = this.#collect(reader) ?? (await this.#wait(reader));
        if (batch === "look") continue;
        yield batch;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#release(reader);
      this.#readers.delete(reader);
    }
  }

  /** What the range has from the reader's cursor to the newest; undefined when that is nothing. */
  #collect(reader: Reader): Batch | undefined {
    if (reader.fault !== undefined) throw reader.fault;
    if (reader.cursor < this.#oldest) throw new StoreFault({ kind: "too-slow" });
    const { wants, cursor } = reader;
    const events: StoreEvent[] = [];
    let through = this.#position;
    for (let index = this.#indexOf(cursor); index < this.#chunks.length; index += 1) {
      const chunk = this.#chunks[index] as BufferedChunk;
      for (const event of chunk.events) {
        if (wants(event) && revisionOfEvent(event) >= cursor) events.push(event);
      }
      if (events.length >= this.#limits.batchEvents) {
        through = chunk.revision;
        break;
      }
    }
    reader.cursor = Math.max(cursor, through + 1);
    return events.length === 0 ? undefined : { events, revision: through };
  }

  #wait(reader: Reader): Promise<Batch | "look"> {
    const name = `${reader.range.from}\0${reader.range.to}`;
    let group = this.#waiting.get(name);
    if (group === undefined) {
      group = { wants: reader.wants, readers: new Set() };
      this.#waiting.set(name, group);
    }
    group.readers.add(reader);
    return new Promise((resolve, reject) => {
      reader.waiting = { resolve, reject };
    });
  }

  #tellMoved(): void {
    for (const resolve of this.#onMove.splice(0)) resolve();
  }

  #wake(events: readonly StoreEvent[], first: number): void {
    for (const [name, { wants, readers }] of this.#waiting) {
      if (!events.some(wants)) continue;
      this.#waiting.delete(name);
      for (const reader of readers) {
        reader.cursor = Math.max(reader.cursor, first);
        reader.waiting?.resolve("look");
        reader.waiting = undefined;
      }
    }
  }

  #release(reader: Reader): void {
    const { waiting } = reader;
    reader.waiting = undefined;
    const name = `${reader.range.from}\0${reader.range.to}`;
    const group = this.#waiting.get(name);
    group?.readers.delete(reader);
    if (group?.readers.size === 0) this.#waiting.delete(name);
    waiting?.resolve("look");
  }

  #trim(): void {
    const { historyBytes, lagBytes } = this.#limits;
    if (this.#bytes <= historyBytes * LEEWAY) return;
    const needed = this.#slowest();
    let gone = 0;
    while (gone < this.#chunks.length - 1) {
      const chunk = this.#chunks[gone] as BufferedChunk;
      const wanted = chunk.revision >= needed;
      if (this.#bytes <= (wanted ? lagBytes : historyBytes)) break;
      this.#bytes -= chunk.bytes;
      this.#oldest = chunk.revision + 1;
      gone += 1;
    }
    if (gone > 0) this.#chunks.splice(0, gone);
  }

  /** The smallest cursor of a reader that is busy and not cut off; Infinity when there is none. */
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
    // Most readers are woken by the newest one, and want that.
    let low = (this.#chunks.at(-2)?.revision ?? Infinity) < revision ? high - 1 : 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle] as BufferedChunk).revision < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Whether an event's key is in the range, by UTF-8 order. The order of strings is that of UTF-16,
 * which is the same as long as one side is ASCII.
 */
export function inRange({ from, to }: KeyRange): (event: StoreEvent) => boolean {
  if (isAscii(from) && isAscii(to)) {
    return (event) => {
      const key = keyOfEvent(event);
      return key >= from && key < to;
    };
  }
  const [first, end] = [Buffer.from(from), Buffer.from(to)];
  return (event) => {
    const key = Buffer.from(keyOfEvent(event));
    return key.compare(first) >= 0 && key.compare(end) < 0;
  };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
