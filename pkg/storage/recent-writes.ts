import type { Entry } from "./backend.ts";

/** Approximate size of an entry besides its value, in bytes. */
const overhead = 300;

/**
 * The versions that this process wrote last, by key: a writer that changes an object again starts
 * from them without a read. Bounded in bytes; the version that was written longest ago goes first.
 */
export class RecentWrites {
  readonly #limit: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Keeps `entry`, unless a newer version of the key is kept. */
  add(entry: Entry): void {
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
