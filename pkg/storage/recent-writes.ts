import type { Entry } from "./backend.ts";

/** Approximate size of an entry besides its value, in bytes. */
const overhead = 300;

/** An entry that this process has written; creation revision 0 = not known yet. */
type WrittenEntry = Entry & { createRevision: number };

/**
 * The most recent writes of this process, by key: the next update of an object starts from them without
 * a read, and the cache adopts them when the watch reports the write. Limited in bytes; the oldest are
 * evicted first.
 */
export class RecentWrites {
  readonly #limit: number;
  readonly #entries = new Map<string, WrittenEntry>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Adds an entry, unless a newer version of the key is present. */
  add(entry: WrittenEntry): void {
    const previous = this.#entries.get(entry.key);
    if (previous !== undefined && previous.modRevision > entry.modRevision) return;
    this.delete(entry.key);
    this.#entries.set(entry.key, entry);
    this.#bytes += sizeOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limit) break;
      this.delete(oldest);
    }
  }

  /** Removes the entry of `key`, and returns it if it is the version that the store reports. */
  take(key: string, stored: Entry): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.modRevision > stored.modRevision) return undefined;
    this.delete(key);
    if (entry.modRevision < stored.modRevision || stored.encryption !== undefined) return undefined;
    entry.createRevision = stored.createRevision;
    return entry;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= sizeOf(entry);
  }
}

function sizeOf({ value }: Entry): number {
  return value.byteLength + overhead;
}
