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
import { collectionPrefix, StoredItem } from "../codec/stored.ts";
import { parseVersion } from "../write/preconditions.ts";

const bookmarkMilliseconds = 60_000;
/** A last bookmark comes so long before the watch ends by itself. */
const farewellMilliseconds = 2000;
/**
 * A watch without a timeout ends after this and up to as much again, so that watchers spread out.
 */
const defaultTimeoutSeconds = 1800;
/** The longest time that a Node timer can wait. */
const longestTimer = 2 ** 31 - 1;
/** Initial events are delivered so many at a time. */
const chunk = 500;

type Step = IteratorResult<EventBatch, undefined>;

/** As `watchBatches`, one event at a time. */
export async function* watch(
  batches: AsyncIterable<EventBatch>,
): AsyncGenerator<ItemEvent, void, undefined> {
  for await (const { events } of batches) yield* events;
}

/**
 * Changes of a collection in order. Parameters are checked here and not at the first `next()`: 400,
 * 422 and 500 are thrown at once, everything later is an ERROR event that ends the watch, as
 * Kubernetes has it. Ends without an event at its timeout and when the target's signal aborts.
 */
export function watchBatches(
  registry: RegistryContext,
  request: ResourceRequest,
  options: WatchOptions,
): AsyncIterableIterator<EventBatch> {
  const selection = selectionOf(request, options);
  checkWatchOptions(options, registry.catalog.domain);
  const { resourceVersion } = options;
  const asked = resourceVersion === "" ? 0n : parseVersion(resourceVersion);
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
 * A watch under way: at first the past that was asked for, from here; then what changes, from the
 * audience of the collection.
 */
class Watch implements AsyncIterableIterator<EventBatch> {
  readonly #parts: WatchParts;
  /** Ends the watch, whoever wants it to. */
  readonly #life = new AbortController();
  #past: AsyncGenerator<EventBatch, number, undefined> | undefined;
  #follower: CacheWatcher | undefined;
  #deadline = 0;
  /** Stops asking whether the resource is still served. */
  #stay: () => void = () => undefined;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  next(): Promise<Step> {
    return this.#follower === undefined ? this.#first() : this.#follower.next();
  }

  return(): Promise<Step> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #end = (): void => {
    this.#life.abort();
    this.#parts.request.context.signal.removeEventListener("abort", this.#end);
    this.#stay();
    this.#follower?.end();
  };

  /** A step of the past; after the last one the follower takes over. */
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
    return this.#follower!.next();
  }

  #start(): void {
    const { registry, request, options } = this.#parts;
    const { clock, identities } = registry;
    const seconds = options.timeoutSeconds || defaultTimeoutSeconds * (1 + identities.chance());
    const milliseconds = Math.min(seconds * 1000, longestTimer);
    this.#deadline = clock.monotonic() + milliseconds;
    // The sleep fails only when the watch is over before.
    clock.sleep(milliseconds, this.#life.signal).then(this.#end, () => undefined);
    this.#stay = registry.catalog.whenGone(request.resource, this.#end);
    if (request.context.signal.aborted || !isServed(registry, request)) this.#end();
    else request.context.signal.addEventListener("abort", this.#end, { once: true });
    this.#past = this.#pastOf();
  }

  #follow(position: number): void {
    const { registry, request, options, selection, prefix } = this.#parts;
    const audience = dispatcherFor(registry, request.resource);
    const group = audience.groups.find(request.resource, prefix, selection);
    const bookmarks = options.allowBookmarks ? bookmarksUntil(this.#deadline) : undefined;
    const now = registry.clock.monotonic();
    this.#follower = new CacheWatcher(audience, { group, position, bookmarks }, now);
  }

  /** What was there at the start or happened up to now; answers how far it came. */
  async *#pastOf(): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, options, asked } = this.#parts;
    const { signal } = this.#life;
    const collection = registry.store.collection(request.resource.keyPrefix);
    await collection.filled(signal);
    const { sendInitialEvents, allowBookmarks, resourceVersion } = options;
    if (sendInitialEvents ?? asked === 0n) {
      const revision = yield* this.#initialEvents();
      // A plain watch from 0 comes from the cache in Kubernetes, and gets the bookmark of it, too.
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

  /** Everything selected, as of one revision, which is returned. */
  async *#initialEvents(): AsyncGenerator<EventBatch, number, undefined> {
    const { registry, request, options, selection, prefix, asked } = this.#parts;
    const { signal } = this.#life;
    const { resource } = request;
    const any = options.resourceVersion !== "" && asked === 0n;
    const collection = registry.store.collection(resource.keyPrefix);
    const snapshot = await collection.newest(any ? { signal, atLeast: 0 } : { signal });
    const { revision } = snapshot;
    if (asked > BigInt(revision)) throw tooLargeResourceVersion(asked, revision);
    let after: string | undefined;
    for (;;) {
      const { runs, remaining } = await snapshot.page(prefix, { limit: chunk, after, signal });
      const entries = runs.flat();
      const items = entries.map((entry) => StoredItem.shared(registry, resource, entry));
      const events = items
        .filter((item) => selection.empty || selection.matches(item))
        .map((item): ItemEvent => ({ type: "ADDED", item }));
      if (events.length > 0) yield alone(events).value;
      after = entries.at(-1)?.key;
      if (remaining === 0 || after === undefined) return revision;
    }
  }

  /** What happened after `asked` and before the past that the cache knows. */
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

/** A custom resource may have gone since the request came. */
function isServed({ catalog }: RegistryContext, { resource }: ResourceRequest): boolean {
  return resource.kind.custom === undefined || catalog.serves(resource);
}

/** About every minute, and shortly before the end. */
function bookmarksUntil(deadline: number): Bookmarks {
  const farewell = deadline - farewellMilliseconds;
  return {
    next: (now) => {
      if (farewell <= now) return Number.POSITIVE_INFINITY;
      return Math.min(now + bookmarkMilliseconds, farewell);
    },
  };
}
