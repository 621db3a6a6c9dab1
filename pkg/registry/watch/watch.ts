import { memoize, realClock, yieldEvery, plannedEnd } from "#base";
import { plainFailure, StatusError, tooLargeResourceVersion } from "#meta";
import { StoreFault } from "#storage";
import { dispatcherFor } from "./dispatcher.ts";
import type { EventBatch, ItemEvent, ResourceRequest, WatchOptions } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { watchError, selectedEvent } from "./events.ts";
import { singleBatch, type Bookmarks, CacheWatcher } from "./cache-watcher.ts";
import { checkWatchOptions } from "../read/list-options.ts";
import { malformedVersion } from "../read/get.ts";
import { type Selection, selectionOf } from "../read/selection.ts";
import { selectorOf } from "../read/selected-items.ts";
import { collectionPrefix, type StoredItem } from "../codec/stored.ts";
import { parseResourceVersion } from "../write/preconditions.ts";

const bookmarkIntervalMs = 60_000;
/** The last bookmark is sent this long before the deadline of the watch. */
const lastBookmarkMs = 2_000;
/** Limit of a Node timer in ms; a longer one fires immediately. */
const maxTimerMs = 2 ** 31 - 1;
/** Initial events per batch. */
const initialBatch = 500;

type Step = IteratorResult<EventBatch, undefined>;

/** The events of `watchBatches`, one by one. */
export async function* watch(
  batches: AsyncIterable<EventBatch>,
): AsyncGenerator<ItemEvent, void, undefined> {
  for await (const { events } of batches) yield* events;
}

/**
 * Watches a collection; events are in order of revision. Throws 400, 422 or 500 for invalid options;
 * every later failure is an ERROR event that ends the watch, as in kube-apiserver. The watch ends
 * without an event at its deadline, when the request is aborted, and when the resource is removed.
 */
export function watchBatches(
  registry: RegistryContext,
  request: ResourceRequest,
  options: WatchOptions,
): AsyncIterableIterator<EventBatch> {
  const selection = selectionOf(request, options);
  checkWatchOptions(options, registry);
  const { resourceVersion } = options;
  const startRevision = resourceVersion === "" ? 0n : parseResourceVersion(resourceVersion);
  if (startRevision === undefined) throw plainFailure(malformedVersion(resourceVersion));
  const namespace = selection.namespace ?? request.namespace;
  const prefix = collectionPrefix({ ...request, namespace });
  return new Watch({ registry, request, options, selection, prefix, startRevision });
}

interface WatchParts {
  readonly registry: RegistryContext;
  readonly request: ResourceRequest;
  readonly options: WatchOptions;
  readonly selection: Selection;
  readonly prefix: string;
  /** The resourceVersion of the request; 0 if absent. */
  readonly startRevision: bigint;
}

/**
 * A running watch. It delivers the initial events, or the changes since its resourceVersion, then those
 * of the collection's dispatcher.
 */
class Watch implements AsyncIterableIterator<EventBatch> {
  readonly #parts: WatchParts;
  /** Aborts at the end of the watch. */
  readonly #life = new AbortController();
  #past: AsyncGenerator<EventBatch, number, undefined> | undefined;
  #watcher: CacheWatcher | undefined;
  #deadline = 0;
  /** Unsubscribes from the removal of the resource. */
  #unsubscribe: () => void = () => undefined;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  next(): Promise<Step> {
    return this.#watcher === undefined ? this.#nextPast() : this.#watcher.next();
  }

  return(): Promise<Step> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #end = (): void => {
    this.#life.abort(plannedEnd);
    this.#parts.request.context.signal.removeEventListener("abort", this.#end);
    this.#unsubscribe();
    this.#watcher?.end();
  };

  /** The next batch of initial events or history; after the last one the CacheWatcher takes over. */
  async #nextPast(): Promise<Step> {
    if (this.#past === undefined) this.#start();
    if (this.#life.signal.aborted) return { done: true, value: undefined };
    try {
      const step = await this.#past!.next();
      if (this.#life.signal.aborted) return { done: true, value: undefined };
      if (!step.done) return step;
      this.#startWatcher(step.value);
    } catch (fault) {
      if (this.#life.signal.aborted) return { done: true, value: undefined };
      this.#end();
      return singleBatch([{ type: "ERROR", status: this.#errorOf(fault).status }]);
    }
    return this.#watcher!.next();
  }

  #start(): void {
    const { registry, request, options } = this.#parts;
    const clock = realClock(registry.clock);
    const timeoutMs = watchTimeoutMs(registry, options);
    this.#deadline = clock.monotonic() + timeoutMs;
    // The sleep rejects only if the watch ends before its deadline.
    clock.sleep(timeoutMs, this.#life.signal).then(this.#end, () => undefined);
    this.#unsubscribe = registry.catalog.whenGone(request.resource, this.#end);
    // The deadline of a negative timeoutSeconds has passed already.
    const isOver = request.context.signal.aborted || timeoutMs <= 0;
    if (isOver || !isServed(registry, request)) this.#end();
    else request.context.signal.addEventListener("abort", this.#end, { once: true });
    this.#past = this.#pastOf();
  }

  #startWatcher(position: number): void {
    const { registry, request, options, selection, prefix } = this.#parts;
    const dispatcher = dispatcherFor(registry, request.resource);
    const watcherSet = dispatcher.watcherIndex.find(request.resource, prefix, selection);
    const bookmarks = options.allowBookmarks ? bookmarksUntil(this.#deadline) : undefined;
    const now = realClock(registry.clock).monotonic();
    this.#watcher = new CacheWatcher(dispatcher, { watcherSet, position, bookmarks }, now);
    options.initialized?.();
  }

  /** The initial events, or the history since `startRevision`; returns the revision that they reach. */
  async *#pastOf(): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, options, startRevision } = this.#parts;
    const { signal } = this.#life;
    const collection = registry.store.collection(request.resource.keyPrefix);
    await collection.filled(signal);
    const { sendInitialEvents, allowBookmarks } = options;
    if (sendInitialEvents ?? startRevision === 0n) {
      const revision = yield* this.#initialEvents();
      if (allowBookmarks) {
        yield singleBatch([{ type: "BOOKMARK", revision, initialEventsEnd: true }]).value;
      }
      return revision;
    }
    if (startRevision === 0n) return (await collection.newest({ signal })).revision;
    const largest = BigInt(Number.MAX_SAFE_INTEGER - 1);
    return yield* this.#history(Number(startRevision < largest ? startRevision : largest));
  }

  /** ADDED events of all matching objects at one revision, which is returned. */
  async *#initialEvents(): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, options, selection, prefix, startRevision } = this.#parts;
    const { signal } = this.#life;
    const { resource } = request;
    const any = options.resourceVersion !== "" && startRevision === 0n;
    const collection = registry.store.collection(resource.keyPrefix);
    const snapshot = await collection.newest(any ? { signal, atLeast: 0 } : { signal });
    const { revision } = snapshot;
    if (startRevision > BigInt(revision)) throw tooLargeResourceVersion(startRevision, revision);
    const select = selectorOf(registry, resource, selection);
    const pause = yieldEvery();
    let after: string | undefined;
    for (;;) {
      const { runs, remaining } = await snapshot.page(prefix, {
        limit: initialBatch,
        after,
        signal,
      });
      const events: ItemEvent[] = [];
      for (const run of runs) {
        const wait = pause();
        if (wait !== undefined) await wait;
        events.push(...select(run).map(addedEvent));
      }
      if (events.length > 0) yield singleBatch(events).value;
      after = runs.at(-1)?.at(-1)?.key;
      if (remaining === 0 || after === undefined) return revision;
    }
  }

  /** Changes after `startRevision` that the watch cache no longer holds, read from the store. */
  async *#history(startRevision: number): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, selection, prefix } = this.#parts;
    const { signal } = this.#life;
    const { resource } = request;
    const collection = registry.store.collection(resource.keyPrefix);
    let position = startRevision;
    for (;;) {
      if (signal.aborted) return position;
      if (collection.span === undefined) await collection.filled(signal);
      if (position >= (collection.span?.from ?? Infinity)) return position;
      for await (const batch of collection.past(prefix, position + 1, signal)) {
        const events = batch.changes.flatMap((change) => {
          return selectedEvent(registry, { resource, selection }, change) ?? [];
        });
        position = batch.revision;
        if (events.length > 0) yield singleBatch(events).value;
        if (position >= (collection.span?.from ?? Infinity)) break;
      }
    }
  }

  #errorOf(fault: unknown): StatusError {
    if (fault instanceof StatusError) return fault;
    if (fault instanceof StoreFault) return watchError(fault, this.#parts.startRevision);
    throw fault;
  }
}

/**
 * Lifetime of a watch in ms, by kube-apiserver's rule: timeoutSeconds, else a random time between
 * one and two times --min-request-timeout, so that clients do not reconnect all at once.
 */
function watchTimeoutMs(
  { minRequestTimeoutMs, identities }: RegistryContext,
  { timeoutSeconds }: WatchOptions,
): number {
  const wanted = timeoutSeconds
    ? timeoutSeconds * 1_000
    : minRequestTimeoutMs * (1 + identities.chance());
  return Math.min(Math.max(wanted, 0), maxTimerMs);
}

/** The initial event of an object, shared by all watches, so that it is encoded once. */
const addedEvent = memoize((item: StoredItem): ItemEvent => {
  return { type: "ADDED", item, encoded: undefined };
});

/** False for a custom resource whose definition was deleted since the request arrived. */
function isServed({ catalog }: RegistryContext, { resource }: ResourceRequest): boolean {
  return resource.kind.custom === undefined || catalog.serves(resource);
}

/** One bookmark per minute, and one 2 s before the deadline, as kube-apiserver's cacher sends them. */
function bookmarksUntil(deadline: number): Bookmarks {
  const last = deadline - lastBookmarkMs;
  return {
    next: (now) => {
      if (last <= now) return Number.POSITIVE_INFINITY;
      return Math.min(now + bookmarkIntervalMs, last);
    },
  };
}
