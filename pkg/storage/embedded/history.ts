import { assert, setBounded, type SortedMap } from "#base";
import { StoreFault, type Entry, type StoreEvent } from "../backend.ts";
import type { State, Step } from "./state.ts";

/** A committed transaction. */
export interface CommittedTransaction {
  readonly revision: number;
  /** Time of the commit in ms since 1970. */
  readonly time: number;
  readonly events: readonly StoreEvent[];
}

/** Limits of the history; it is compacted when one of them is exceeded. */
export interface Retention {
  /** Maximum age in milliseconds. */
  readonly milliseconds: number;
  /** Maximum number of revisions. */
  readonly revisions: number;
  /** Maximum size of replaced and deleted values in bytes, plus 200 bytes per event. */
  readonly bytes: number;
}

/** Default limits; the age is the compaction interval of kube-apiserver (five minutes). */
export const defaultRetention: Retention = {
  milliseconds: 300_000,
  revisions: 100_000,
  bytes: 64 * 1024 * 1024,
};

/** A version that is not visible at any readable revision. */
export interface DeadVersion {
  readonly key: string;
  readonly revision: number;
  /** Size of the value in bytes. */
  readonly bytes: number;
}

/**
 * A part of the history: the entries before its first revision, and the transactions since. A read at a
 * past revision replays at most one chunk.
 *
 * Example, chunks of 2: revisions 2..6 are [before 2: {}, put a, put b] [before 4: {a,b}, del a,
 * put c] [before 6: {b,c}, put a]. At revision 4: {a,b} and the deletion of a, hence {b}.
 */
interface Chunk {
  readonly first: number;
  readonly before: SortedMap<Entry>;
  readonly transactions: CommittedTransaction[];
  bytes: number;
}

/** Maximum number of transactions in a chunk. */
const chunkTransactions = 128;
/** Size in bytes above which a chunk is closed early, so that large old values can be dropped. */
const chunkBytes = 1024 * 1024;
/** Number of past states that are cached for paginated lists. */
const maxReplayed = 8;

/** All readable revisions of a store: the newest state, and the transactions since the oldest. */
export class History {
  #state: State;
  #chunks: Chunk[];
  #oldest: number;
  #bytes: number;
  readonly #replayed = new Map<number, SortedMap<Entry>>();

  /** `state` is the state at, or just before, the oldest readable revision `oldest`. */
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
    if (chunk.transactions.length >= chunkTransactions || chunk.bytes >= chunkBytes) {
      chunk = newChunk(this.#state);
      this.#chunks.push(chunk);
    }
    chunk.transactions.push({ revision: step.state.revision, time, events: step.events });
    const bytes = cost(step.events);
    chunk.bytes += bytes;
    this.#bytes += bytes;
    this.#state = step.state;
  }

  /**
   * The entries at a revision; 0 or undefined = the newest.
   * @throws StoreFault `compacted` or `future-revision`
   */
  entriesAt(revision: number | undefined): SortedMap<Entry> {
    const current = this.#state.revision;
    if (!revision || revision === current) return this.#state.entries;
    if (revision > current) throw new StoreFault({ kind: "future-revision", current });
    if (revision < this.#oldest) throw new StoreFault({ kind: "compacted", oldest: this.#oldest });
    const cached = this.#replayed.get(revision);
    if (cached !== undefined) return cached;
    const entries = replay(this.#chunks[this.#chunkOf(revision)]!, revision);
    setBounded(this.#replayed, [revision, entries], maxReplayed);
    return entries;
  }

  /** The transactions from a readable revision on, in order. */
  *transactionsFrom(revision: number): IterableIterator<CommittedTransaction> {
    if (revision > this.#state.revision) return;
    const start = this.#chunkOf(revision);
    for (let i = start; i < this.#chunks.length; i++) {
      const { first, transactions } = this.#chunks[i]!;
      const skip = i === start ? Math.max(0, revision - first) : 0;
      for (let j = skip; j < transactions.length; j++) yield transactions[j]!;
    }
  }

  /**
   * Drops versions that are only visible before `revision`, and returns them. Deletions at `revision`
   * itself are retained, so that a watch from there is complete.
   */
  compact(revision: number): DeadVersion[] {
    const dead: DeadVersion[] = [];
    if (revision <= this.#oldest) return dead;
    assert(revision <= this.#state.revision, "the revision has been reached");
    for (const transaction of this.transactionsFrom(this.#oldest)) {
      if (transaction.revision > revision) break;
      collectDead(dead, transaction, { oldest: this.#oldest, revision });
    }
    this.#oldest = revision;
    const keep = this.#chunkOf(revision);
    for (const chunk of this.#chunks.slice(0, keep)) this.#bytes -= chunk.bytes;
    this.#chunks = this.#chunks.slice(keep);
    for (const past of this.#replayed.keys()) if (past < revision) this.#replayed.delete(past);
    return dead;
  }

  /** The revision to compact to; undefined while the history is within its limits. */
  overdue(retention: Retention, now: number): number | undefined {
    let bytes = this.#bytes;
    let target: number | undefined;
    for (let i = 0; i + 1 < this.#chunks.length; i++) {
      const chunk = this.#chunks[i]!;
      const next = this.#chunks[i + 1]!.first;
      const newest = chunk.transactions[chunk.transactions.length - 1]!.time;
      const exceedsRevisions = this.#state.revision - chunk.first >= retention.revisions;
      if (!exceedsRevisions && bytes <= retention.bytes && newest >= now - retention.milliseconds)
        break;
      target = next;
      bytes -= chunk.bytes;
    }
    return target;
  }

  /** An independent copy. Costs a reference per chunk. */
  fork(): History {
    const copy = new History(this.#state, this.#oldest);
    const open = this.#chunks[this.#chunks.length - 1]!;
    const last: Chunk = { ...open, transactions: [...open.transactions] };
    copy.#chunks = [...this.#chunks.slice(0, -1), last];
    copy.#bytes = this.#bytes;
    return copy;
  }

  /** Index of the chunk of a revision; 0 for a revision before the first chunk. */
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
  return { first: state.revision + 1, before: state.entries, transactions: [], bytes: 0 };
}

function replay(chunk: Chunk, revision: number): SortedMap<Entry> {
  let entries = chunk.before;
  for (const transaction of chunk.transactions) {
    if (transaction.revision > revision) break;
    for (const event of transaction.events) {
      if (event.type === "put") entries = entries.set(event.entry.key, event.entry);
      else entries = entries.delete(event.key);
    }
  }
  return entries;
}

/**
 * Collects the versions that a transaction before the compacted revision replaced or deleted. Those of
 * the previous oldest revision were already dropped by the previous compaction.
 */
function collectDead(
  dead: DeadVersion[],
  transaction: CommittedTransaction,
  { oldest, revision }: { readonly oldest: number; readonly revision: number },
): void {
  for (const event of transaction.events) {
    const key = event.type === "put" ? event.entry.key : event.key;
    const { previous } = event;
    if (previous !== undefined && transaction.revision > oldest) {
      dead.push({ key, revision: previous.modRevision, bytes: previous.value.byteLength });
    }
    if (event.type === "delete" && transaction.revision < revision) {
      dead.push({ key, revision: transaction.revision, bytes: 0 });
    }
  }
}

function cost(events: readonly StoreEvent[]): number {
  let bytes = 0;
  for (const { previous } of events) bytes += 200 + (previous?.value.byteLength ?? 0);
  return bytes;
}
