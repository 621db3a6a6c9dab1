import type { Entry } from "./backend.ts";

/** Approximate size of an entry besides its value, in bytes. */
const overhead = 300;

/** A version that this process has written; creation revision 0 = it is not known yet. */
type WrittenEntry = Entry & { createRevision: number };

/**
 * The versions that this process wrote last, by key: a writer that changes an object again starts
 * from them without a read, and the cache takes them over when it learns of the write. Bounded in
 * bytes; the version that was written longest ago goes first.
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

  /** Keeps `entry`, unless a newer version of the key is kept. */
  add(entry: WrittenEntry): void {
    const before = this.#entries.get(entry.key);
    if (before !== undefined && before.modRevision > entry.modRevision) return;
    this.delete(entry.key);
    this.#entries.set(entry.key, entry);
    this.#bytes += sizeOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limit) break;
      this.delete(oldest);
    }
  }

  /** Hands over the version of `key` that the store reports as `stored`, if it is kept. */
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
