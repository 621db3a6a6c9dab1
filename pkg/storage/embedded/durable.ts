import { systemClock, type Clock } from "#base";
import type { StoreEvent } from "../backend.ts";
import { EmbeddedStore, type StoreLimits } from "./embedded-store.ts";
import { History } from "./history.ts";
import { corrupt, LmdbJournal, type Contents } from "./lmdb-journal.ts";
import { defaultLimits } from "./memory-backend.ts";
import type { VersionRecord } from "./record.ts";
import { emptyState, firstRevision, without, withEntry, type State } from "./state.ts";

export interface DurableBackendOptions {
  /** Directory of the store, created if absent, for one process at a time. */
  readonly directory: string;
  readonly clock?: Clock;
  readonly limits?: Partial<StoreLimits>;
  /** Maximum size of all live versions in bytes, above which writes are rejected; default 4 GiB. */
  readonly quotaBytes?: number;
}

const defaultQuotaBytes = 4 * 1024 * 1024 * 1024;

/**
 * A store that survives restarts, `kill -9` and power loss: a transaction resolves and becomes visible to
 * readers only after an fsync.
 * @throws StoreFault `unavailable` if another process has the directory open, `corrupt` if its contents
 *   are damaged
 */
export async function durableBackend(options: DurableBackendOptions): Promise<EmbeddedStore> {
  const clock = options.clock ?? systemClock;
  const limits = { ...defaultLimits, ...options.limits };
  const { directory, quotaBytes = defaultQuotaBytes } = options;
  const journal = await LmdbJournal.open({ directory, quotaBytes });
  try {
    const history = restore(await journal.load(), clock.now());
    return new EmbeddedStore({ clock, history, limits, journal });
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** Rebuilds the history from its records; throws StoreFault `corrupt` if records are missing. */
function restore({ head, versions }: Contents, now: number): History {
  const start = versions.findIndex((version) => version.revision >= head.oldest);
  const base = start < 0 ? versions : versions.slice(0, start);
  let state = emptyState();
  for (const version of base) state = applyRecord(state, version).state;
  // The oldest readable revision is replayed as well, so that a watch from there has its events. Only
  // the first revision, of the empty store, has none.
  const before = head.oldest === firstRevision ? firstRevision : head.oldest - 1;
  const history = new History({ ...state, revision: before }, head.oldest);
  for (const group of groupByRevision(versions.slice(base.length))) {
    const { revision } = group[0]!;
    if (revision !== history.state.revision + 1) {
      throw corrupt(`revision ${history.state.revision + 1} is missing`);
    }
    let next = history.state;
    const events: StoreEvent[] = [];
    for (const version of group) {
      const step = applyRecord(next, version);
      events.push(step.event);
      next = step.state;
    }
    history.append({ state: { ...next, revision }, events }, now);
  }
  if (history.state.revision !== head.revision) {
    throw corrupt(`revisions end at ${history.state.revision}, not at ${head.revision}`);
  }
  return history;
}

function applyRecord(state: State, version: VersionRecord): { state: State; event: StoreEvent } {
  const { key, revision, value, createRevision, deadline } = version;
  const previous = state.entries.get(key);
  if (version.deleted) {
    const event: StoreEvent = { type: "delete", key, revision, previous };
    return { state: without(state, key), event };
  }
  const entry = { key, value, createRevision, modRevision: revision };
  return { state: withEntry(state, entry, deadline), event: { type: "put", entry, previous } };
}

/** Consecutive records with the same revision. */
function* groupByRevision(versions: readonly VersionRecord[]): IterableIterator<VersionRecord[]> {
  let start = 0;
  for (let end = 1; end <= versions.length; end++) {
    if (versions[end]?.revision === versions[start]!.revision) continue;
    yield versions.slice(start, end);
    start = end;
  }
}
