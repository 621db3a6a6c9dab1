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
  /** Number of retained changes. */
  readonly changes: number;
  readonly pastBytes: number;
  readonly from: number;
  readonly objects: number;
  readonly bytes: number;
  readonly unreadable: number;
}

/** Statistics of a collection that is not cached. */
export const noStatistics: WatchCacheStatistics = {
  changes: 0,
  pastBytes: 0,
  from: 0,
  objects: 0,
  bytes: 0,
  unreadable: 0,
};

function isUnreadable(entry: Entry | undefined): boolean {
  return entry?.encryption?.fault !== undefined;
}

/** Consecutive changes with the state before them. */
interface Chunk {
  /** The state before the first change. */
  readonly before: SortedMap<Entry>;
  readonly changes: Change[];
  bytes: number;
}

/** Approximate number of changes in a chunk, which a read of a past revision replays. */
const chunkChanges = 128;
/** Number of past states that are cached for paginated lists. */
const maxReplayed = 16;

/**
 * The newest state of a collection and its recent changes in chunks; the oldest chunks are dropped.
 *
 *     chunks   [12 15 15] [17 18]      from = 11 (all changes after 11 are retained), newest = 18
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
  /** Entries of the newest state that cannot be decrypted. */
  #unreadable = 0;
  readonly #replayed = new Map<number, SortedMap<Entry>>();

  constructor({ entries, bytes, unreadable, revision }: CachedState, limits: WatchCacheLimits) {
    this.#entries = entries;
    this.#entryBytes = bytes;
    this.#unreadable = unreadable;
    this.#from = revision;
    this.#limits = limits;
    this.#chunks = [{ before: entries, changes: [], bytes: 0 }];
  }

  /** The state of entries that are sorted by key. */
  static stateOf(entries: readonly (readonly [string, Entry])[], revision: number): CachedState {
    const bytes = entries.reduce((sum, [, { value }]) => sum + value.byteLength, 0);
    const unreadable = entries.filter(([, entry]) => isUnreadable(entry)).length;
    return { entries: SortedMap.from(entries), bytes, unreadable, revision };
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
    const retained = { changes: this.#count, pastBytes: this.#bytes };
    const [bytes, unreadable] = [this.#entryBytes, this.#unreadable];
    return { ...retained, from: this.#from, objects: size, bytes, unreadable };
  }

  /** Applies a change at the newest revision or a later one; undefined if it changes nothing. */
  apply(key: string, revision: number, entry: Entry | undefined): Change | undefined {
    const previous = this.#entries.get(key);
    if (entry === undefined && previous === undefined) return undefined;
    let chunk = this.#chunks[this.#chunks.length - 1]!;
    const last = chunk.changes[chunk.changes.length - 1];
    assert(last === undefined || last.revision <= revision, "changes are in order of revision");
    if (chunk.changes.length >= chunkChanges && last!.revision < revision) {
      chunk = { before: this.#entries, changes: [], bytes: 0 };
      this.#chunks.push(chunk);
      this.#trim();
    }
    const change: Change = { key, revision, entry, previous, derived: undefined };
    const bytesBefore = previous?.value.byteLength ?? 0;
    const bytes = 200 + bytesBefore;
    this.#unreadable += Number(isUnreadable(entry)) - Number(isUnreadable(previous));
    this.#entryBytes += (entry?.value.byteLength ?? 0) - bytesBefore;
    chunk.changes.push(change);
    chunk.bytes += bytes;
    this.#count += 1;
    this.#bytes += bytes;
    this.#entries = entry === undefined ? this.#entries.delete(key) : this.#entries.set(key, entry);
    return change;
  }

  /** The state at a revision; undefined if it was dropped. */
  at(revision: number): SortedMap<Entry> | undefined {
    if (revision < this.#from) return undefined;
    const newest = this.#chunks[this.#chunks.length - 1]!.changes.at(-1)?.revision ?? this.#from;
    if (revision >= newest) return this.#entries;
    const cached = this.#replayed.get(revision);
    if (cached !== undefined) return cached;
    const { before, changes } = this.#chunks[this.#chunkAfter(revision)]!;
    let entries = before;
    for (const { key, revision: changedAt, entry } of changes) {
      if (changedAt > revision) break;
      entries = entry === undefined ? entries.delete(key) : entries.set(key, entry);
    }
    setBounded(this.#replayed, [revision, entries], maxReplayed);
    return entries;
  }

  /** About `limit` changes after a revision, in order; those of one revision are never separated. */
  after(revision: number, limit = Number.POSITIVE_INFINITY): readonly Change[] {
    assert(revision >= this.#from, "the changes after the revision are retained");
    const selected: Change[] = [];
    for (let index = this.#chunkAfter(revision); index < this.#chunks.length; index++) {
      const { changes } = this.#chunks[index]!;
      for (let at = firstAfter(changes, revision); at < changes.length; at++) {
        const change = changes[at]!;
        if (selected.length >= limit && change.revision > selected.at(-1)!.revision) {
          return selected;
        }
        selected.push(change);
      }
    }
    return selected;
  }

  /** Index of the chunk with the first change after `revision`; the last chunk if there is none. */
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
    const { changes, bytes } = this.#limits;
    while (this.#chunks.length > 2 && (this.#count > changes || this.#bytes > bytes)) {
      const dropped = this.#chunks.shift()!;
      this.#count -= dropped.changes.length;
      this.#bytes -= dropped.bytes;
      this.#from = dropped.changes.at(-1)!.revision;
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
