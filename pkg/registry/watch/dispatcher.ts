import { memoize } from "#base";
import { expired, type Resource, type Status } from "#meta";
import { type Change, type Collection, StoreFault, type Subscriber } from "#storage";
import type { EventBatch, ItemEvent } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { selectedEvent } from "./events.ts";
import type { CacheWatcher, MissedEvents, WatcherSet } from "./cache-watcher.ts";
import { WatcherIndex } from "./watcher-set.ts";
import { isReadable, StoredItem } from "../codec/stored.ts";

/** Followers that are told in one go; then others get a turn. */
const slice = 256;
/** How often it is looked who is due for a bookmark. */
const tickMilliseconds = 1000;

/** A batch on its way to the followers of a group. */
interface Delivery {
  readonly batch: EventBatch;
  readonly followers: Iterator<CacheWatcher>;
  /** The batch is what happened after this revision and up to that one. */
  readonly after: number;
  readonly to: number;
}

/** The audiences of an environment, by the key prefix of the resource. */
const audiencesOf = memoize((_environment: RegistryContext) => new Map<string, WatchDispatcher>());

/** Everyone who watches the resource, in whatever version. */
export function dispatcherFor(registry: RegistryContext, { keyPrefix }: Resource): WatchDispatcher {
  const audiences = audiencesOf(registry);
  let audience = audiences.get(keyPrefix);
  if (audience === undefined) {
    audience = new WatchDispatcher(registry, registry.store.collection(keyPrefix));
    audiences.set(keyPrefix, audience);
  }
  return audience;
}

/**
 * All watches of one collection. Nobody has a queue: a follower that waits has seen everything up
 * to the audience's cursor and is handed the next batch of its group; one that is busy catches up
 * from the collection's past when it asks again, and is ended if that has been forgotten meanwhile.
 *
 *     changes      7 8 9        cursor = 9
 *     follower A   waits        is handed the changes after 9 when they come, with its group
 *     follower B   busy, at 7   asks again, is given 8 and 9 alone, and then waits
 */
class WatchDispatcher implements Subscriber {
  readonly groups = new WatcherIndex();
  readonly #environment: RegistryContext;
  readonly #collection: Collection;
  /** What the followers who wait have seen. */
  #cursor = 0;
  #deliveries: Delivery[] = [];
  #changedMeanwhile = false;
  #unsubscribe: (() => void) | undefined;
  /** Followers that want bookmarks. */
  readonly #bookmarked = new Set<CacheWatcher>();
  #ticking: AbortController | undefined;

  constructor(registry: RegistryContext, collection: Collection) {
    this.#environment = registry;
    this.#collection = collection;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /**
   * From now on the follower is handed what happens after its position; false when the collection
   * does not know that any more.
   */
  add(follower: CacheWatcher, position: number): boolean {
    const { span } = this.#collection;
    if (span === undefined || position < span.from) return false;
    if (this.#unsubscribe === undefined) {
      this.#unsubscribe = this.#collection.subscribe(this);
      this.#cursor = span.to;
    }
    const { group, bookmarks } = follower;
    if (group.watchers.size === 0) this.groups.add(group);
    group.watchers.add(follower);
    if (!bookmarks) return true;
    this.#bookmarked.add(follower);
    if (this.#ticking === undefined) void this.#tick();
    return true;
  }

  remove(follower: CacheWatcher): void {
    const { group } = follower;
    this.#bookmarked.delete(follower);
    if (this.#bookmarked.size === 0) this.#ticking?.abort();
    if (!group.watchers.delete(follower) || group.watchers.size > 0) return;
    this.groups.remove(group);
    if (this.groups.empty) this.#end();
  }

  changed(): void {
    if (this.#deliveries.length > 0) {
      this.#changedMeanwhile = true;
      return;
    }
    const { span } = this.#collection;
    if (span === undefined) return;
    const after = this.#cursor;
    this.#cursor = span.to;
    if (after < span.from) return this.#failAll(tooSlow());
    for (const [group, events] of this.#distributed(this.#collection.changesAfter(after))) {
      const batch = { events, encoded: new Map() };
      this.#deliveries.push({ batch, followers: group.watchers.values(), after, to: span.to });
    }
    this.#deliver();
  }

  lost(): void {
    this.#end();
    this.#failAll(expired("too old resource version: the cache began anew").status);
  }

  /**
   * The events of a group after a position, of at most about `most` changes. Throws StoreFault
   * `too-slow` when they are forgotten.
   */
  missed(group: WatcherSet, position: number, most: number): MissedEvents {
    const { span } = this.#collection;
    if (span === undefined || position < span.from) throw new StoreFault({ kind: "too-slow" });
    const changes = this.#collection.changesAfter(position, most);
    const events: ItemEvent[] = [];
    for (const change of changes) {
      if (change.revision > this.#cursor) break;
      const event = this.#eventOf(group, change);
      if (event !== undefined) events.push(event);
    }
    const last = changes.at(-1)?.revision ?? 0;
    const whole = changes.length < most || last > this.#cursor;
    return { events, position: whole ? this.#cursor : last };
  }

  #end(): void {
    this.#deliveries = [];
    this.#changedMeanwhile = false;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  #failAll(status: Status): void {
    for (const { watchers } of this.groups.all()) for (const each of watchers) each.fail(status);
  }

  /** Hands batches out in order, a slice at a time. */
  #deliver(): void {
    let told = 0;
    for (let next = this.#deliveries[0]; next !== undefined; next = this.#deliveries[0]) {
      const { followers, batch, after, to } = next;
      for (let step = followers.next(); !step.done; step = followers.next()) {
        step.value.deliver(batch, after, to);
        told += 1;
        if (told < slice) continue;
        setImmediate(() => this.#deliver());
        return;
      }
      this.#deliveries.shift();
    }
    if (!this.#changedMeanwhile) return;
    this.#changedMeanwhile = false;
    this.changed();
  }

  #distributed(changes: readonly Change[]): Map<WatcherSet, ItemEvent[]> {
    const found = new Map<WatcherSet, ItemEvent[]>();
    for (const change of changes) {
      this.groups.concerned(
        change,
        ({ resource, valueOf }, entry) => {
          if (!isReadable(entry)) return "";
          return valueOf(StoredItem.shared(this.#environment, resource, entry));
        },
        (group) => {
          const event = this.#eventOf(group, change);
          if (event === undefined) return;
          const events = found.get(group);
          if (events === undefined) found.set(group, [event]);
          else events.push(event);
        },
      );
    }
    return found;
  }

  #eventOf(group: WatcherSet, change: Change): ItemEvent | undefined {
    if (!change.key.startsWith(group.prefix)) return undefined;
    return selectedEvent(this.#environment, group, change);
  }

  /** Bookmarks go to followers that wait: they have seen all there is. */
  async #tick(): Promise<void> {
    const ticking = new AbortController();
    this.#ticking = ticking;
    const { clock } = this.#environment;
    const { signal } = ticking;
    for (;;) {
      try {
        await clock.sleep(tickMilliseconds, signal, { background: true });
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
    for (const follower of this.#bookmarked) follower.bookmark(now, this.#cursor);
  }
}

function tooSlow(): Status {
  return expired("too old resource version: the watcher did not keep up with the changes").status;
}
