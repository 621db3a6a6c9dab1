import { ownBytes, SortedMap } from "#base";
import type { Compare, Entry, StoreEvent, WriteOperation } from "../backend.ts";

/** The contents of a store at one revision; immutable, and structurally shared with the next. */
export interface State extends Deadlines {
  readonly revision: number;
  readonly entries: SortedMap<Entry>;
}

interface Deadlines {
  /** Times in ms since 1970 at which keys with a time to live expire, by key. */
  readonly deadlineOf: SortedMap<number>;
  /** Keys with a time to live by deadline and key as text, hence in order of time. */
  readonly deadlines: SortedMap<string>;
}

/** The result of a transaction. */
export interface Step {
  /** The state after the transaction; the same object if nothing was written. */
  readonly state: State;
  readonly events: readonly StoreEvent[];
}

/** Revision of an empty store, as in etcd. */
export const firstRevision = 1;

export function emptyState(): State {
  return {
    revision: firstRevision,
    entries: SortedMap.empty(),
    deadlineOf: SortedMap.empty(),
    deadlines: SortedMap.empty(),
  };
}

/** Whether all comparisons succeed. */
export function holds(state: State, compare: readonly Compare[]): boolean {
  return compare.every(({ key, modRevision }) => {
    return (state.entries.get(key)?.modRevision ?? 0) === modRevision;
  });
}

/**
 * Applies the writes of a transaction at the next revision. Deleting an absent key writes nothing, and a
 * transaction that writes nothing does not increment the revision. `now` is in ms since 1970.
 */
export function write(state: State, operations: readonly WriteOperation[], now: number): Step {
  const revision = state.revision + 1;
  const events: StoreEvent[] = [];
  const { entries, deadlineOf, deadlines } = state;
  let next: State = { revision, entries, deadlineOf, deadlines };
  for (const operation of operations) {
    if ("delete" in operation) {
      const previous = next.entries.get(operation.delete);
      if (previous === undefined) continue;
      events.push({ type: "delete", key: operation.delete, revision, previous });
      next = without(next, operation.delete);
    } else {
      const { put: key, ttlSeconds } = operation;
      const previous = next.entries.get(key);
      const value = ownBytes(operation.value);
      const createRevision = previous?.createRevision ?? revision;
      const entry: Entry = { key, value, createRevision, modRevision: revision };
      events.push({ type: "put", entry, previous });
      next = withEntry(next, entry, ttlSeconds === undefined ? undefined : now + ttlSeconds * 1000);
    }
  }
  return { state: events.length === 0 ? state : next, events };
}

/** The state with an entry added or replaced; the revision does not change. */
export function withEntry(state: State, entry: Entry, deadline: number | undefined): State {
  const { revision, entries } = state;
  const { deadlineOf, deadlines } = withDeadline(state, entry.key, deadline);
  return { revision, entries: entries.set(entry.key, entry), deadlineOf, deadlines };
}

export function without(state: State, key: string): State {
  const { revision, entries } = state;
  const { deadlineOf, deadlines } = withDeadline(state, key, undefined);
  return { revision, entries: entries.delete(key), deadlineOf, deadlines };
}

/** At most `limit` expired keys, the earliest first. */
export function expired(state: State, now: number, limit: number): string[] {
  return state.deadlines.values(undefined, deadlineText(Math.floor(now) + 1), limit);
}

/** Time in ms since 1970 at which the next key expires. */
export function nextDeadline(state: State): number | undefined {
  const first = state.deadlines.at(0);
  return first === undefined ? undefined : state.deadlineOf.get(first[1]);
}

function withDeadline(state: State, key: string, deadline: number | undefined): Deadlines {
  let { deadlineOf, deadlines } = state;
  const old = deadlineOf.size === 0 ? undefined : deadlineOf.get(key);
  if (old === undefined && deadline === undefined) return { deadlineOf, deadlines };
  if (old !== undefined) deadlines = deadlines.delete(deadlineText(old) + key);
  if (deadline === undefined) deadlineOf = deadlineOf.delete(key);
  else {
    deadlineOf = deadlineOf.set(key, deadline);
    deadlines = deadlines.set(deadlineText(deadline) + key, key);
  }
  return { deadlineOf, deadlines };
}

/** A deadline as text of fixed width, so that texts are ordered like times. */
function deadlineText(deadline: number): string {
  return String(Math.floor(deadline)).padStart(16, "0");
}
