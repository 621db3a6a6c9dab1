import { assert } from "#base";
import { expired, plainFailure, StatusError, tooLargeResourceVersion } from "#meta";
import { StoreFault, type StoreEvent } from "#storage";
import type { Item, ItemEvent, Target, WatchOptions } from "./contract.ts";
import type { Environment } from "./environment.ts";
import { faultError } from "./faults.ts";
import { checkWatchOptions } from "./list-options.ts";
import { malformedVersion } from "./read.ts";
import { type Selection, selectionOf } from "./selection.ts";
import { collectionPrefix, StoredItem } from "./stored.ts";
import { parseVersion } from "./versions.ts";

const bookmarkMilliseconds = 60_000;
/** A last bookmark comes so long before the watch ends by itself. */
const farewellMilliseconds = 2000;
/**
 * A watch without a timeout ends after this and up to as much again, so that watchers spread out.
 */
const defaultTimeoutSeconds = 1800;
/** The longest time that a Node timer can wait. */
const longestTimer = 2 ** 31 - 1;
/** Initial events are read in pages of so many. */
const chunk = 1000;

/**
 * Changes of a collection in order. Parameters are checked here and not at the first `next()`: 400,
 * 422 and 500 are thrown at once, everything later is an ERROR event that ends the watch, as
 * Kubernetes has it. Ends without an event at its timeout and when the target's signal aborts.
 */
export function watch(
  environment: Environment,
  target: Target,
  options: WatchOptions,
): AsyncIterable<ItemEvent> {
  const selection = selectionOf(target, options);
  checkWatchOptions(options, environment.catalog.domain);
  const { resourceVersion } = options;
  const asked = resourceVersion === "" ? 0n : parseVersion(resourceVersion);
  if (asked === undefined) throw plainFailure(malformedVersion(resourceVersion));
  const namespace = selection.namespace ?? target.namespace;
  const prefix = collectionPrefix({ ...target, namespace });
  return run({ environment, target, options, selection, prefix, asked });
}

interface Watch {
  readonly environment: Environment;
  readonly target: Target;
  readonly options: WatchOptions;
  readonly selection: Selection;
  readonly prefix: string;
  /** The client's resourceVersion; 0 where it sent none. */
  readonly asked: bigint;
}

/** A watch under way. */
interface Running extends Watch {
  readonly signal: AbortSignal;
  /** In milliseconds since 1970. */
  readonly deadline: number;
}

async function* run(watch: Watch): AsyncGenerator<ItemEvent, void, undefined> {
  const { environment, target, options } = watch;
  const { clock, identities, store } = environment;
  const seconds = options.timeoutSeconds || defaultTimeoutSeconds * (1 + identities.chance());
  const milliseconds = Math.min(seconds * 1000, longestTimer);
  const timer = new AbortController();
  const signal = AbortSignal.any([target.signal, timer.signal]);
  const later = (delay: number, action: () => void): void => {
    // The sleep fails only when the watch is over before; there is nothing left to do then.
    clock.sleep(delay, signal).then(action, () => undefined);
  };
  later(milliseconds, () => timer.abort());
  if (options.allowBookmarks && milliseconds > farewellMilliseconds) {
    later(milliseconds - farewellMilliseconds, () => store.requestProgress());
  }
  try {
    yield* phases({ ...watch, signal, deadline: clock.now() + milliseconds });
  } catch (fault) {
    if (!signal.aborted) yield { type: "ERROR", status: errorOf(watch, fault).status };
  } finally {
    timer.abort();
  }
}

/** What was there at the start, then what changes. */
async function* phases(watch: Running): AsyncGenerator<ItemEvent, void, undefined> {
  const { options, asked, environment, signal } = watch;
  const { sendInitialEvents, allowBookmarks, resourceVersion } = options;
  if (sendInitialEvents ?? asked === 0n) {
    const revision = yield* initialEvents(watch);
    // A plain watch from 0 comes from the cache in Kubernetes, and gets the bookmark of it, too.
    const marked = sendInitialEvents === true || resourceVersion !== "";
    if (allowBookmarks && marked) yield { type: "BOOKMARK", revision, initialEventsEnd: true };
    yield* changes(watch, revision + 1);
  } else if (asked === 0n) {
    yield* changes(watch, (await environment.store.revision(signal)) + 1);
  } else {
    const largest = BigInt(Number.MAX_SAFE_INTEGER - 1);
    yield* changes(watch, Number(asked < largest ? asked : largest) + 1);
  }
}

/** Everything selected, as of one revision, which is returned. */
async function* initialEvents(watch: Running): AsyncGenerator<ItemEvent, number, undefined> {
  const { environment, target, selection, prefix, asked, signal } = watch;
  const { store } = environment;
  let page = await store.list(prefix, { limit: chunk, signal });
  const { revision } = page;
  if (asked > BigInt(revision)) throw tooLargeResourceVersion(asked, revision);
  for (;;) {
    for (const entry of page.entries) {
      if (signal.aborted) return revision;
      const item = new StoredItem(environment, target, entry);
      if (selection.empty || selection.matches(item)) yield { type: "ADDED", item };
    }
    const last = page.entries.at(-1);
    if (page.remaining === 0 || last === undefined) return revision;
    page = await store.list(prefix, { limit: chunk, after: last.key, revision, signal });
  }
}

async function* changes(
  watch: Running,
  fromRevision: number,
): AsyncGenerator<ItemEvent, void, undefined> {
  const { environment, options, prefix, signal, deadline } = watch;
  const { clock } = environment;
  let bookmarkAt = nextBookmark(clock.now(), deadline);
  for await (const batch of environment.store.watch(prefix, { fromRevision, signal })) {
    for (const change of batch.events) {
      const event = eventOf(watch, change);
      if (signal.aborted) return;
      if (event !== undefined) yield event;
    }
    if (signal.aborted) return;
    if (!options.allowBookmarks || clock.now() < bookmarkAt) continue;
    // A watch from the future has not reached its start yet.
    if (batch.revision + 1 < fromRevision) continue;
    yield { type: "BOOKMARK", revision: batch.revision, initialEventsEnd: false };
    bookmarkAt = nextBookmark(clock.now(), deadline);
  }
}

/**
 * About every minute, and shortly before the end. The store's progress reports give the occasion.
 */
function nextBookmark(now: number, deadline: number): number {
  const farewell = deadline - farewellMilliseconds;
  if (farewell <= now) return Number.POSITIVE_INFINITY;
  return Math.min(now + bookmarkMilliseconds, farewell);
}

/** A change as the selection sees it: what comes into it is ADDED, what leaves it is DELETED. */
function eventOf(watch: Running, change: StoreEvent): ItemEvent | undefined {
  const { environment, target, selection } = watch;
  const matching = (item: StoredItem): boolean => selection.empty || selection.matches(item);
  const previous = change.previous && new StoredItem(environment, target, change.previous);
  if (change.type === "delete") {
    if (previous === undefined) throw unknownPast();
    return matching(previous) ? leaving(previous, change.revision) : undefined;
  }
  const { createRevision, modRevision } = change.entry;
  const item = new StoredItem(environment, target, change.entry);
  if (createRevision === modRevision) return matching(item) ? { type: "ADDED", item } : undefined;
  if (selection.empty) return { type: "MODIFIED", item };
  if (previous === undefined) throw unknownPast();
  if (matching(item)) return { type: matching(previous) ? "MODIFIED" : "ADDED", item };
  return matching(previous) ? leaving(previous, modRevision) : undefined;
}

/** The last state within the selection, under the version of the change that took it out. */
function leaving(previous: StoredItem, revision: number): { type: "DELETED"; item: Item } {
  assert(previous.revision < revision, "a deletion comes after what it deletes");
  return { type: "DELETED", item: previous.deletedAt(revision) };
}

/** The state before the change is compacted already; the client lists anew. */
function unknownPast(): Error {
  return expired("too old resource version: the state before a change is gone");
}

function errorOf({ asked }: Watch, fault: unknown): StatusError {
  if (fault instanceof StatusError) return fault;
  if (!(fault instanceof StoreFault)) throw fault;
  const { detail } = fault;
  if (detail.kind !== "compacted") return faultError(fault);
  return expired(`too old resource version: ${asked} (${detail.oldest})`);
}
