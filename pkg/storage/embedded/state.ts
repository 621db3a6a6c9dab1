import { ownBytes, SortedMap } from "#base";
import type { Compare, Entry, StoreEvent, WriteOperation } from "../backend.ts";

/** All there is at one revision. Never changes; the next revision shares nearly all of it. */
export interface State extends Deadlines {
  readonly revision: number;
  readonly entries: SortedMap<Entry>;
}

interface Deadlines {
  /** Wall-clock milliseconds at which a key goes away, for the keys that do. */
  readonly deadlineOf: SortedMap<number>;
  /** The same in order of time: deadline and key as text -> key. */
  readonly deadlines: SortedMap<string>;
}

export interface Step {
  /** The state after the step; the very same one when nothing was written. */
  readonly state: State;
  readonly events: readonly StoreEvent[];
}

/** An empty store is at revision 1, as etcd's; the first write makes it 2. */
export const FIRST_REVISION = 1;

export function emptyState(): State {
  return {
    revision: FIRST_REVISION,
    entries: SortedMap.empty(),
    deadlineOf: SortedMap.empty(),
    deadlines: SortedMap.empty(),
  };
}

export function holds(state: State, compare: readonly Compare[]): boolean {
  return compare.every(({ key, modRevision }) => {
    return (state.entries.get(key)?.modRevision ?? 0) === modRevision;
  });
}

/**
 * One transaction's writes, all at the next revision. Deleting what is not there writes nothing,
 * and a transaction that writes nothing takes no revision. `now` is wall-clock milliseconds.
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

/** The state with one more version, as it was written: the revision is not touched. */
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

/** Keys whose time has come, the earliest first, `limit` at most. */
export function expired(state: State, now: number, limit: number): string[] {
  return state.deadlines.values(undefined, deadlineText(Math.floor(now) + 1), limit);
}

/** When the next key goes away, in wall-clock milliseconds. */
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

/** Fixed width, so that the order of the texts is that of the times. */
function deadlineText(deadline: number): string {
  return String(Math.floor(deadline)).padStart(16, "0");
}
