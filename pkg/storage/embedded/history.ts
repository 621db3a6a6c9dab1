import { assert, setBounded, type SortedMap } from "#base";
import { StoreFault, type Entry, type StoreEvent } from "../backend.ts";
import type { State, Step } from "./state.ts";

/** What one transaction did. */
export interface Moment {
  readonly revision: number;
  /** Wall-clock milliseconds. */
  readonly time: number;
  readonly events: readonly StoreEvent[];
}

/** How much of the past is kept. Whichever bound is met first, the oldest goes. */
export interface Retention {
  /** What is younger than this many milliseconds is kept, within the other two bounds. */
  readonly milliseconds: number;
  readonly revisions: number;
  /** Size of replaced and deleted values in bytes, plus 200 bytes for each event. */
  readonly bytes: number;
}

/** As kube-apiserver lets etcd forget: what is older than five minutes. */
export const defaultRetention: Retention = {
  milliseconds: 300_000,
  revisions: 100_000,
  bytes: 64 * 1024 * 1024,
};

/** A version that no revision from the oldest readable one on can see any more. */
export interface DeadVersion {
  readonly key: string;
  readonly revision: number;
  /** Size of the value in bytes. */
  readonly bytes: number;
}

/**
 * The past goes in chunks: the entries before the chunk's first revision and what happened since.
 * The entries at a revision inside are made by replaying at most a chunk.
 *
 * Example, chunks of 2: revisions 2..6 are [before 2: {}, put a, put b] [before 4: {a,b}, del a,
 * put c] [before 6: {b,c}, put a]. At revision 4: {a,b} and the deletion of a, so {b}.
 */
interface Chunk {
  readonly first: number;
  readonly before: SortedMap<Entry>;
  readonly moments: Moment[];
  bytes: number;
}

/** Moments in a chunk, hence replayed for a read in the past, at most. */
const CHUNK_MOMENTS = 128;
/** A chunk with more bytes is closed early, so that old large values can go. */
const CHUNK_BYTES = 1024 * 1024;
/** Entries at past revisions that are kept ready, for lists that are read page by page. */
const REPLAYED = 8;

/** All live revisions of a store: the newest state, and how it came about since the oldest. */
export class History {
  #state: State;
  #chunks: Chunk[];
  #oldest: number;
  #bytes: number;
  readonly #replayed = new Map<number, SortedMap<Entry>>();

  /** `oldest`: the oldest readable revision, where `state` is the state before that or at it. */
  constructor(state: State, oldest: number = state.revision) {
    this.#state = state;
    this.#oldest = oldest;
    this.#bytes = 0;
    this.#chunks = [newChunk(state)];
  }

  /** The newest state. */
  get state(): State {
    return this.#state;
  }

  /** The oldest revision that can be read. */
  get oldest(): number {
    return this.#oldest;
  }

  append(step: Step, time: number): void {
    assert(step.state.revision === this.#state.revision + 1, "revisions grow by one");
    let chunk = this.#chunks[this.#chunks.length - 1]!;
    if (chunk.moments.length >= CHUNK_MOMENTS || chunk.bytes >= CHUNK_BYTES) {
      chunk = newChunk(this.#state);
      this.#chunks.push(chunk);
    }
    chunk.moments.push({ revision: step.state.revision, time, events: step.events });
    const bytes = cost(step.events);
    chunk.bytes += bytes;
    this.#bytes += bytes;
    this.#state = step.state;
  }

  /**
   * The entries as of a revision; 0 or undefined = now. Throws `compacted` and `future-revision`.
   */
  entriesAt(revision: number | undefined): SortedMap<Entry> {
    const current = this.#state.revision;
    if (!revision || revision === current) return this.#state.entries;
    if (revision > current) throw new StoreFault({ kind: "future-revision", current });
    if (revision < this.#oldest) throw new StoreFault({ kind: "compacted", oldest: this.#oldest });
    const known = this.#replayed.get(revision);
    if (known !== undefined) return known;
    const entries = replay(this.#chunks[this.#chunkOf(revision)]!, revision);
    setBounded(this.#replayed, [revision, entries], REPLAYED);
    return entries;
  }

  /** What happened from `revision` (which must be live) on, in order. */
  *momentsFrom(revision: number): IterableIterator<Moment> {
    if (revision > this.#state.revision) return;
    const start = this.#chunkOf(revision);
    for (let i = start; i < this.#chunks.length; i++) {
      const { first, moments } = this.#chunks[i]!;
      const skip = i === start ? Math.max(0, revision - first) : 0;
      for (let j = skip; j < moments.length; j++) yield moments[j]!;
    }
  }

  /**
   * Forgets what only revisions below `revision` could see. Answers the versions that are dead now;
   * deletions at `revision` itself stay, so that a watch from there is complete.
   */
  compact(revision: number): DeadVersion[] {
    const dead: DeadVersion[] = [];
    if (revision <= this.#oldest) return dead;
    assert(revision <= this.#state.revision, "the future is not there to forget");
    for (const moment of this.momentsFrom(this.#oldest)) {
      if (moment.revision > revision) break;
      collectDead(dead, moment, { oldest: this.#oldest, revision });
    }
    this.#oldest = revision;
    const keep = this.#chunkOf(revision);
    for (const chunk of this.#chunks.slice(0, keep)) this.#bytes -= chunk.bytes;
    this.#chunks = this.#chunks.slice(keep);
    for (const kept of this.#replayed.keys()) if (kept < revision) this.#replayed.delete(kept);
    return dead;
  }

  /** The revision to compact to, by the given bounds; undefined when all may stay. */
  overdue(retention: Retention, now: number): number | undefined {
    let bytes = this.#bytes;
    let target: number | undefined;
    for (let i = 0; i + 1 < this.#chunks.length; i++) {
      const chunk = this.#chunks[i]!;
      const next = this.#chunks[i + 1]!.first;
      const newest = chunk.moments[chunk.moments.length - 1]!.time;
      const many = this.#state.revision - chunk.first >= retention.revisions;
      if (!many && bytes <= retention.bytes && newest >= now - retention.milliseconds) break;
      target = next;
      bytes -= chunk.bytes;
    }
    return target;
  }

  /**
   * Another history with the same past, and a future of its own. Costs a reference for every chunk.
   */
  fork(): History {
    const copy = new History(this.#state, this.#oldest);
    const open = this.#chunks[this.#chunks.length - 1]!;
    const last: Chunk = { ...open, moments: [...open.moments] };
    copy.#chunks = [...this.#chunks.slice(0, -1), last];
    copy.#bytes = this.#bytes;
    return copy;
  }

  /** The chunk a revision is in. What is before the first chunk counts to it. */
  #chunkOf(revision: number): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#chunks[middle]!.first <= revision) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function newChunk(state: State): Chunk {
  return { first: state.revision + 1, before: state.entries, moments: [], bytes: 0 };
}

function replay(chunk: Chunk, revision: number): SortedMap<Entry> {
  let entries = chunk.before;
  for (const moment of chunk.moments) {
    if (moment.revision > revision) break;
    for (const event of moment.events) {
      if (event.type === "put") entries = entries.set(event.entry.key, event.entry);
      else entries = entries.delete(event.key);
    }
  }
  return entries;
}

/**
 * What the moment replaced went at the last compaction already if the moment was the oldest then.
 */
function collectDead(
  dead: DeadVersion[],
  moment: Moment,
  { oldest, revision }: { readonly oldest: number; readonly revision: number },
): void {
  for (const event of moment.events) {
    const key = event.type === "put" ? event.entry.key : event.key;
    const { previous } = event;
    if (previous !== undefined && moment.revision > oldest) {
      dead.push({ key, revision: previous.modRevision, bytes: previous.value.byteLength });
    }
    if (event.type === "delete" && moment.revision < revision) {
      dead.push({ key, revision: moment.revision, bytes: 0 });
    }
  }
}

function cost(events: readonly StoreEvent[]): number {
  let bytes = 0;
  for (const { previous } of events) bytes += 200 + (previous?.value.byteLength ?? 0);
  return bytes;
}
