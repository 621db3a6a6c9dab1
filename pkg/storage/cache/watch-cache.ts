import { assert, setBounded, SortedMap } from "#base";
import type { Entry } from "../backend.ts";
import type { CachedState, Change } from "../store.ts";

export interface WatchCacheLimits {
  /** Number of changes retained. */
  readonly changes: number;
  /** Bytes of versions retained only for past revisions. */
  readonly bytes: number;
}

interface WatchCacheStatistics {
  /** Changes of the past. */
  readonly changes: number;
  readonly pastBytes: number;
  readonly from: number;
  readonly objects: number;
  readonly bytes: number;
}

/** Statistics of a collection that is not cached. */
export const noStatistics: WatchCacheStatistics = {
  changes: 0,
  pastBytes: 0,
  from: 0,
  objects: 0,
  bytes: 0,
};

interface Chunk {
  /** The state before the first change. */
  readonly before: SortedMap<Entry>;
  readonly changes: Change[];
  bytes: number;
}

/** Approximate number of changes that a snapshot of a past revision replays. */
const CHUNK_CHANGES = 128;
/** Past states that are cached for lists read page by page. */
const REPLAYED = 16;

/**
 * The newest state of a collection and its recent changes. Whole chunks are dropped at the old end.
 *
 *     chunks   [12 15 15] [17 18]      from = 11 (everything after 11 is known), newest = 18
 *     at(16)   the state before 17: that before the second chunk
 *     after(15) = 17, 18
 */
export class WatchCache {
  readonly #limits: WatchCacheLimits;
  #entries: SortedMap<Entry>;
  #chunks: Chunk[];
  #from: number;
  #count = 0;
  #bytes = 0;
  /** Size of the values of the newest state, in bytes. */
  #entryBytes = 0;
  readonly #replayed = new Map<number, SortedMap<Entry>>();

  constructor({ entries, bytes, revision }: CachedState, limits: WatchCacheLimits) {
    this.#entries = entries;
    this.#entryBytes = bytes;
    this.#from = revision;
    this.#limits = limits;
    this.#chunks = [{ before: entries, changes: [], bytes: 0 }];
  }

  /** A state to begin with: entries in the order of their keys, at one revision. */
  static stateOf(entries: readonly (readonly [string, Entry])[], revision: number): CachedState {
    const bytes = entries.reduce((sum, [, { value }]) => sum + value.byteLength, 0);
    return { entries: SortedMap.from(entries), bytes, revision };
  }

  get entries(): SortedMap<Entry> {
    return this.#entries;
  }

  /** All changes after this revision are retained. */
  get from(): number {
    return this.#from;
  }

  get statistics(): WatchCacheStatistics {
    const { size } = this.#entries;
    const held = { changes: this.#count, pastBytes: this.#bytes };
    return { ...held, from: this.#from, objects: size, bytes: this.#entryBytes };
  }

  /** Applies a change at the newest revision or a later one; undefined if it changes nothing. */
  apply(key: string, revision: number, entry: Entry | undefined): Change | undefined {
    const previous = this.#entries.get(key);
    if (entry === undefined && previous === undefined) return undefined;
    let chunk = this.#chunks[this.#chunks.length - 1]!;
    const last = chunk.changes[chunk.changes.length - 1];
    assert(last === undefined || last.revision <= revision, "changes come in order");
    if (chunk.changes.length >= CHUNK_CHANGES && last!.revision < revision) {
      chunk = { before: this.#entries, changes: [], bytes: 0 };
      this.#chunks.push(chunk);
      this.#trim();
    }
    const change: Change = { key, revision, entry, previous, derived: undefined };
    const bytesBefore = previous?.value.byteLength ?? 0;
    const bytes = 200 + bytesBefore;
    this.#entryBytes += (entry?.value.byteLength ?? 0) - bytesBefore;
    chunk.changes.push(change);
    chunk.bytes += bytes;
    this.#count += 1;
    this.#bytes += bytes;
    this.#entries = entry === undefined ? this.#entries.delete(key) : this.#entries.set(key, entry);
    return change;
  }

  /** The state as of a revision that is not after the newest; undefined if it was dropped. */
  at(revision: number): SortedMap<Entry> | undefined {
    if (revision < this.#from) return undefined;
    const newest = this.#chunks[this.#chunks.length - 1]!.changes.at(-1)?.revision ?? this.#from;
    if (revision >= newest) return this.#entries;
    const known = this.#replayed.get(revision);
    if (known !== undefined) return known;
    const { before, changes } = this.#chunks[this.#chunkAfter(revision)]!;
    let entries = before;
    for (const { key, revision: changedAt, entry } of changes) {
      if (changedAt > revision) break;
      entries = entry === undefined ? entries.delete(key) : entries.set(key, entry);
    }
    setBounded(this.#replayed, [revision, entries], REPLAYED);
    return entries;
  }

  /**
   * The changes after a revision, in order: about `limit`, as the changes of one revision are never
   * separated.
   */
  after(revision: number, limit = Number.POSITIVE_INFINITY): readonly Change[] {
    assert(revision >= this.#from, "the past is known from there");
    const found: Change[] = [];
    for (let index = this.#chunkAfter(revision); index < this.#chunks.length; index++) {
      const { changes } = this.#chunks[index]!;
      for (let at = firstAfter(changes, revision); at < changes.length; at++) {
        const change = changes[at]!;
        if (found.length >= limit && change.revision > found[found.length - 1]!.revision) {
          return found;
        }
        found.push(change);
      }
    }
    return found;
  }

  /** The chunk with the first change after `revision`; the last one when there is none. */
  #chunkAfter(revision: number): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = this.#chunks[middle]!.changes.at(-1)!;
      if (last.revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #trim(): void {
    const { changes: most, bytes } = this.#limits;
    while (this.#chunks.length > 2 && (this.#count > most || this.#bytes > bytes)) {
      const gone = this.#chunks.shift()!;
      this.#count -= gone.changes.length;
      this.#bytes -= gone.bytes;
      this.#from = gone.changes.at(-1)!.revision;
    }
    for (const revision of this.#replayed.keys()) {
      if (revision < this.#from) this.#replayed.delete(revision);
    }
  }
}

/** Index of the first change after `revision`. */
function firstAfter(changes: readonly Change[], revision: number): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle]!.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
