import { memoize, realClock, yieldEvery, plannedEnd } from "#base";
import { plainFailure, StatusError, tooLargeResourceVersion } from "#meta";
import { StoreFault } from "#storage";
import { dispatcherFor } from "./dispatcher.ts";
import type { EventBatch, ItemEvent, ResourceRequest, WatchOptions } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { endOf, selectedEvent } from "./events.ts";
import { alone, type Bookmarks, CacheWatcher } from "./cache-watcher.ts";
import { checkWatchOptions } from "../read/list-options.ts";
import { malformedVersion } from "../read/get.ts";
import { type Selection, selectionOf } from "../read/selection.ts";
import { selectorOf } from "../read/selected-items.ts";
import { collectionPrefix, type StoredItem } from "../codec/stored.ts";
import { parseResourceVersion } from "../write/preconditions.ts";

const bookmarkIntervalMs = 60_000;
/** The last bookmark is sent this long before the deadline of the watch. */
const lastBookmarkMs = 2_000;
/** The longest delay of a Node timer in ms; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;
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
 * The changes of a collection, in order of revision. Invalid options are thrown by this call as a
 * StatusError 400, 422 or 500; every later failure is an ERROR event that ends the watch, as in
 * kube-apiserver. The watch ends without an event at its deadline, which only this file sets, and
 * when the target's signal aborts.
 */
export function watchBatches(
  registry: RegistryContext,
  request: ResourceRequest,
  options: WatchOptions,
): AsyncIterableIterator<EventBatch> {
  const selection = selectionOf(request, options);
  checkWatchOptions(options, registry.catalog.domain);
  const { resourceVersion } = options;
  const asked = resourceVersion === "" ? 0n : parseResourceVersion(resourceVersion);
  if (asked === undefined) throw plainFailure(malformedVersion(resourceVersion));
  const namespace = selection.namespace ?? request.namespace;
  const prefix = collectionPrefix({ ...request, namespace });
  return new Watch({ registry, request, options, selection, prefix, asked });
}

interface WatchParts {
  readonly registry: RegistryContext;
  readonly request: ResourceRequest;
  readonly options: WatchOptions;
  readonly selection: Selection;
  readonly prefix: string;
  /** The client's resourceVersion; 0 where it sent none. */
  readonly asked: bigint;
}

/**
 * A running watch. It first delivers the initial events or the history that the client asked for,
 * then the changes that the dispatcher of the collection delivers.
 */
class Watch implements AsyncIterableIterator<EventBatch> {
  readonly #parts: WatchParts;
  /** Aborts at the end of the watch. */
  readonly #life = new AbortController();
  #past: AsyncGenerator<EventBatch, number, undefined> | undefined;
  #watcher: CacheWatcher | undefined;
  #deadline = 0;
  /** Removes the callback for the removal of the resource. */
  #stay: () => void = () => undefined;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  next(): Promise<Step> {
    return this.#watcher === undefined ? this.#first() : this.#watcher.next();
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
    this.#stay();
    this.#watcher?.end();
  };

  /** The next batch of the past; after the last one the CacheWatcher takes over. */
  async #first(): Promise<Step> {
    if (this.#past === undefined) this.#start();
    if (this.#life.signal.aborted) return { done: true, value: undefined };
    try {
      const step = await this.#past!.next();
      if (this.#life.signal.aborted) return { done: true, value: undefined };
      if (!step.done) return step;
      this.#follow(step.value);
    } catch (fault) {
      if (this.#life.signal.aborted) return { done: true, value: undefined };
      this.#end();
      return alone([{ type: "ERROR", status: this.#errorOf(fault).status }]);
    }
    return this.#watcher!.next();
  }

  #start(): void {
    const { registry, request, options } = this.#parts;
    const clock = realClock(registry.clock);
    const timeoutMs = watchTimeoutMs(registry, options);
    this.#deadline = clock.monotonic() + timeoutMs;
    // The sleep rejects only when the watch has ended before.
    clock.sleep(timeoutMs, this.#life.signal).then(this.#end, () => undefined);
    this.#stay = registry.catalog.whenGone(request.resource, this.#end);
    // A negative timeoutSeconds has passed before the watch starts.
    const isOver = request.context.signal.aborted || timeoutMs <= 0;
    if (isOver || !isServed(registry, request)) this.#end();
    else request.context.signal.addEventListener("abort", this.#end, { once: true });
    this.#past = this.#pastOf();
  }

  #follow(position: number): void {
    const { registry, request, options, selection, prefix } = this.#parts;
    const dispatcher = dispatcherFor(registry, request.resource);
    const watcherSet = dispatcher.watcherIndex.find(request.resource, prefix, selection);
    const bookmarks = options.allowBookmarks ? bookmarksUntil(this.#deadline) : undefined;
    const now = realClock(registry.clock).monotonic();
    this.#watcher = new CacheWatcher(dispatcher, { watcherSet, position, bookmarks }, now);
    options.initialized?.();
  }

  /** The initial events or the history up to now; returns the revision it reached. */
  async *#pastOf(): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, options, asked } = this.#parts;
    const { signal } = this.#life;
    const collection = registry.store.collection(request.resource.keyPrefix);
    await collection.filled(signal);
    const { sendInitialEvents, allowBookmarks, resourceVersion } = options;
    if (sendInitialEvents ?? asked === 0n) {
      const revision = yield* this.#initialEvents();
      // kube-apiserver also sends this bookmark to a watch from resourceVersion 0.
      const marked = sendInitialEvents === true || resourceVersion !== "";
      if (allowBookmarks && marked) {
        yield alone([{ type: "BOOKMARK", revision, initialEventsEnd: true }]).value;
      }
      return revision;
    }
    if (asked === 0n) return (await collection.newest({ signal })).revision;
    const largest = BigInt(Number.MAX_SAFE_INTEGER - 1);
    return yield* this.#history(Number(asked < largest ? asked : largest));
  }

  /** All selected objects as of one revision, which is returned. */
  async *#initialEvents(): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, options, selection, prefix, asked } = this.#parts;
    const { signal } = this.#life;
    const { resource } = request;
    const any = options.resourceVersion !== "" && asked === 0n;
    const collection = registry.store.collection(resource.keyPrefix);
    const snapshot = await collection.newest(any ? { signal, atLeast: 0 } : { signal });
    const { revision } = snapshot;
    if (asked > BigInt(revision)) throw tooLargeResourceVersion(asked, revision);
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
      if (events.length > 0) yield alone(events).value;
      after = runs.at(-1)?.at(-1)?.key;
      if (remaining === 0 || after === undefined) return revision;
    }
  }

  /** Changes after `asked` that are older than the watch cache, read from the store. */
  async *#history(asked: number): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, selection, prefix } = this.#parts;
    const { signal } = this.#life;
    const { resource } = request;
    const collection = registry.store.collection(resource.keyPrefix);
    let position = asked;
    for (;;) {
      if (signal.aborted) return position;
      if (collection.span === undefined) await collection.filled(signal);
      if (position >= (collection.span?.from ?? Infinity)) return position;
      for await (const batch of collection.past(prefix, position + 1, signal)) {
        const events = batch.changes.flatMap((change) => {
          return selectedEvent(registry, { resource, selection }, change) ?? [];
        });
        position = batch.revision;
        if (events.length > 0) yield alone(events).value;
        if (position >= (collection.span?.from ?? Infinity)) break;
      }
    }
  }

  #errorOf(fault: unknown): StatusError {
    if (fault instanceof StatusError) return fault;
    if (fault instanceof StoreFault) return endOf(fault, this.#parts.asked);
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
  return Math.min(Math.max(wanted, 0), longestTimerMs);
}

/** The initial event of an object, one for all watches: what one of them encodes, all send. */
const addedEvent = memoize((item: StoredItem): ItemEvent => {
  return { type: "ADDED", item, encoded: undefined };
});

/** A custom resource may have been removed since the request arrived. */
function isServed({ catalog }: RegistryContext, { resource }: ResourceRequest): boolean {
  return resource.kind.custom === undefined || catalog.serves(resource);
}

/** A bookmark about every minute, and one shortly before the deadline. */
function bookmarksUntil(deadline: number): Bookmarks {
  const last = deadline - lastBookmarkMs;
  return {
    next: (now) => {
      if (last <= now) return Number.POSITIVE_INFINITY;
      return Math.min(now + bookmarkIntervalMs, last);
    },
  };
}
