import { memoize, realClock, plannedEnd } from "#base";
import { expired, type Resource, type Status, StatusError } from "#meta";
import { type Change, type Collection, StoreFault, type Subscriber } from "#storage";
import type { EventBatch, ItemEvent } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { selectedEvent } from "./events.ts";
import type { CacheWatcher, MissedEvents, WatcherSet } from "./cache-watcher.ts";
import { WatcherIndex } from "./watcher-set.ts";
import { isReadable, StoredItem } from "../codec/stored.ts";

/** Watchers that receive a batch before the dispatcher yields to the event loop. */
const sliceSize = 256;
/** Number of waiting changes up to which two of one object are delivered in separate turns. */
const maxSeparated = 64;
/** Interval in ms at which the dispatcher checks whether watchers are due for a bookmark. */
const bookmarkTickMs = 1000;

/** A batch that is being delivered to the watchers of a WatcherSet. */
interface Delivery {
  readonly batch: EventBatch;
  readonly watchers: Iterator<CacheWatcher>;
  /** The batch holds the events after revision `after`, up to and including `to`. */
  readonly after: number;
  readonly to: number;
}

/** The dispatchers of a registry, by the key prefix of the resource. */
const dispatchersOf = memoize((_registry: RegistryContext) => new Map<string, WatchDispatcher>());

/** The dispatcher for the watches of a resource, one for all of its versions. */
export function dispatcherFor(registry: RegistryContext, { keyPrefix }: Resource): WatchDispatcher {
  const dispatchers = dispatchersOf(registry);
  let dispatcher = dispatchers.get(keyPrefix);
  if (dispatcher === undefined) {
    dispatcher = new WatchDispatcher(registry, registry.store.collection(keyPrefix));
    dispatchers.set(keyPrefix, dispatcher);
  }
  return dispatcher;
}

/**
 * Delivers the changes of one collection to its watchers. Watchers have no queues: an idle watcher
 * has seen everything up to the cursor and receives the next batch of its WatcherSet; a busy one
 * catches up from the watch cache at its next read, and fails with 410 if the cache has already
 * dropped those changes.
 *
 *     changes      7 8 9        cursor = 9
 *     watcher A    idle         receives the next batch together with its WatcherSet
 *     watcher B    busy, at 7   reads 8 and 9 from the watch cache, then is idle
 */
class WatchDispatcher implements Subscriber {
  readonly watcherIndex = new WatcherIndex();
  readonly #registry: RegistryContext;
  readonly #collection: Collection;
  /** Revision up to which idle watchers have seen the changes. */
  #cursor = 0;
  #deliveries: Delivery[] = [];
  /** The collection changed during a delivery. */
  #hasMoreChanges = false;
  /** The next changes are delivered in the next turn of the event loop. */
  #isPaused = false;
  #unsubscribe: (() => void) | undefined;
  /** Watchers with `allowWatchBookmarks`. */
  readonly #bookmarked = new Set<CacheWatcher>();
  #ticking: AbortController | undefined;

  constructor(registry: RegistryContext, collection: Collection) {
    this.#registry = registry;
    this.#collection = collection;
  }

  /** Revision up to which idle watchers have received all events. */
  get cursor(): number {
    return this.#cursor;
  }

  /**
   * Registers a watcher for the changes after its position; false when the watch cache no longer
   * holds all of them.
   */
  add(watcher: CacheWatcher, position: number): boolean {
    const { span } = this.#collection;
    if (span === undefined || position < span.from) return false;
    if (this.#unsubscribe === undefined) {
      this.#unsubscribe = this.#collection.subscribe(this);
      this.#cursor = span.to;
    }
    const { watcherSet, bookmarks } = watcher;
    if (watcherSet.watchers.size === 0) this.watcherIndex.add(watcherSet);
    watcherSet.watchers.add(watcher);
    if (!bookmarks) return true;
    this.#bookmarked.add(watcher);
    if (this.#ticking === undefined) void this.#tick();
    return true;
  }

  remove(watcher: CacheWatcher): void {
    const { watcherSet } = watcher;
    this.#bookmarked.delete(watcher);
    if (this.#bookmarked.size === 0) this.#ticking?.abort(plannedEnd);
    if (!watcherSet.watchers.delete(watcher) || watcherSet.watchers.size > 0) return;
    this.watcherIndex.remove(watcherSet);
    if (this.watcherIndex.empty) this.#end();
  }

  /** Delivers the changes after the cursor, or remembers to do so after the current delivery. */
  changed(): void {
    if (this.#isPaused) return;
    if (this.#deliveries.length > 0) {
      this.#hasMoreChanges = true;
      return;
    }
    const { span } = this.#collection;
    if (span === undefined) return;
    const after = this.#cursor;
    this.#cursor = span.to;
    if (after < span.from) return this.#failAll(tooSlow());
    const changes = this.#separated(this.#collection.changesAfter(after));
    const committedAt = this.#committedAt(changes);
    for (const [watcherSet, events] of this.#eventsByWatcherSet(changes)) {
      const batch = { events, encoded: new Map(), committedAt };
      const watchers = watcherSet.watchers.values();
      this.#deliveries.push({ batch, watchers, after, to: this.#cursor });
    }
    this.#deliver();
  }

  /**
   * The changes before the second one of an object, which is delivered in the next turn: a watcher
   * sees each state of an object, also if the store commits both writes of a request in one turn. A
   * dispatcher that falls behind delivers all changes.
   */
  #separated(changes: readonly Change[]): readonly Change[] {
    if (changes.length < 2 || changes.length > maxSeparated) return changes;
    const keys = new Set<string>();
    const second = changes.find(({ key }) => keys.size === keys.add(key).size);
    if (second === undefined) return changes;
    // A transaction changes an object once, so the first change has an earlier revision.
    const first = changes.filter(({ revision }) => revision < second.revision);
    this.#cursor = first.at(-1)!.revision;
    this.#isPaused = true;
    setImmediate(() => {
      this.#isPaused = false;
      if (this.#unsubscribe !== undefined) this.changed();
    });
    return first;
  }

  /** Ends all watches with 410: the watch cache was reset. */
  lost(): void {
    this.#end();
    this.#failAll(expired("too old resource version: the watch cache was reset").status);
  }

  /**
   * The events of a WatcherSet after a position, from at most about `most` changes. Throws
   * StoreFault `too-slow` when the watch cache has dropped some of them.
   */
  missed(watcherSet: WatcherSet, position: number, most: number): MissedEvents {
    const { span } = this.#collection;
    if (span === undefined || position < span.from) throw new StoreFault({ kind: "too-slow" });
    const changes = this.#collection.changesAfter(position, most);
    const events: ItemEvent[] = [];
    for (const change of changes) {
      if (change.revision > this.#cursor) break;
      const event = this.#eventOf(watcherSet, change);
      if (event !== undefined) events.push(event);
    }
    const last = changes.at(-1)?.revision ?? 0;
    const isComplete = changes.length < most || last > this.#cursor;
    const committedAt = this.#committedAt(changes);
    return { events, position: isComplete ? this.#cursor : last, committedAt };
  }

  #committedAt([oldest]: readonly Change[]): number | undefined {
    return oldest && this.#collection.committedAt(oldest.revision);
  }

  #end(): void {
    this.#deliveries = [];
    this.#hasMoreChanges = false;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  #failAll(status: Status): void {
    for (const { watchers } of this.watcherIndex.all())
      for (const each of watchers) each.fail(status);
  }

  /** Delivers batches in order, to one slice of watchers per turn of the event loop. */
  #deliver(): void {
    this.#registry.clock.note?.("watch events");
    let delivered = 0;
    for (let next = this.#deliveries[0]; next !== undefined; next = this.#deliveries[0]) {
      const { watchers, batch, after, to } = next;
      for (let step = watchers.next(); !step.done; step = watchers.next()) {
        step.value.deliver(batch, after, to);
        delivered += 1;
        if (delivered < sliceSize) continue;
        setImmediate(() => this.#deliver());
        return;
      }
      this.#deliveries.shift();
    }
    if (!this.#hasMoreChanges) return;
    this.#hasMoreChanges = false;
    this.changed();
  }

  /** The events of the changes, by WatcherSet. */
  #eventsByWatcherSet(changes: readonly Change[]): Map<WatcherSet, ItemEvent[]> {
    const found = new Map<WatcherSet, ItemEvent[]>();
    for (const change of changes) {
      this.watcherIndex.forEachCandidate(
        change,
        ({ resource, valueOf }, entry) => {
          if (!isReadable(entry)) return undefined;
          return valueOf(StoredItem.shared(this.#registry, resource, entry));
        },
        (watcherSet) => {
          const event = this.#eventOrFail(watcherSet, change);
          if (event === undefined) return;
          const events = found.get(watcherSet);
          if (events === undefined) found.set(watcherSet, [event]);
          else events.push(event);
        },
      );
    }
    return found;
  }

  /** The event; if it needs a state that cannot be read, the watches of the WatcherSet fail. */
  #eventOrFail(watcherSet: WatcherSet, change: Change): ItemEvent | undefined {
    try {
      return this.#eventOf(watcherSet, change);
    } catch (fault) {
      if (!(fault instanceof StatusError)) throw fault;
      for (const watcher of watcherSet.watchers) watcher.fail(fault.status);
      return undefined;
    }
  }

  #eventOf(watcherSet: WatcherSet, change: Change): ItemEvent | undefined {
    if (!change.key.startsWith(watcherSet.prefix)) return undefined;
    return selectedEvent(this.#registry, watcherSet, change);
  }

  /** Sends due bookmarks to idle watchers, which have received every change, until it is aborted. */
  async #tick(): Promise<void> {
    const ticking = new AbortController();
    this.#ticking = ticking;
    const clock = realClock(this.#registry.clock);
    const { signal } = ticking;
    for (;;) {
      try {
        await clock.sleep(bookmarkTickMs, signal, { background: true });
      } catch {
        break;
      }
      this.#bookmark(clock.monotonic());
    }
    this.#ticking = undefined;
    if (this.#bookmarked.size > 0) void this.#tick();
  }

  #bookmark(now: number): void {
    const { span } = this.#collection;
    if (span === undefined || this.#deliveries.length > 0 || this.#cursor < span.from) return;
    if (this.#collection.changesAfter(this.#cursor, 1).length > 0) return;
    this.#cursor = Math.max(this.#cursor, span.to);
    for (const watcher of this.#bookmarked) watcher.bookmark(now, this.#cursor);
  }
}

function tooSlow(): Status {
  return expired("too old resource version: the watcher did not keep up with the changes").status;
}
