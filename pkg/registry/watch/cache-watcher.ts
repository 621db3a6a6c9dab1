import { expired, type Resource, type Status, StatusError } from "#meta";
import { StoreFault } from "#storage";
import type { Selection } from "../read/selection.ts";
import type { EventBatch, ItemEvent } from "../contract.ts";
import { faultError } from "../codec/faults.ts";

/** All watchers with equal selectors: an event is matched and encoded once for them. */
export interface WatcherSet {
  readonly id: string;
  readonly resource: Resource;
  readonly prefix: string;
  readonly selection: Selection;
  readonly watchers: Set<CacheWatcher>;
}

/** Events that a busy watcher has not received yet. */
export interface MissedEvents {
  readonly events: readonly ItemEvent[];
  /** Revision up to which the events are complete. */
  readonly position: number;
  /** When the oldest of the changes was committed, as `performance.now()`. */
  readonly committedAt: number | undefined;
}

/** The dispatcher of a collection, as its watchers use it. */
interface EventSource {
  /** Revision up to which changes have been delivered. */
  readonly cursor: number;
  /** False if the watch cache no longer holds all changes after `position`. */
  add(watcher: CacheWatcher, position: number): boolean;
  remove(watcher: CacheWatcher): void;
  /** The events of at most about `most` changes after `position`. */
  missed(set: WatcherSet, position: number, most: number): MissedEvents;
}

type Step = IteratorResult<EventBatch, undefined>;

const done: Step = { done: true, value: undefined };
/** Approximate limit of changes that a lagging watcher reads at a time. */
const maxMissed = 1000;

interface CacheWatcherOptions {
  readonly watcherSet: WatcherSet;
  /** Revision up to which the watcher has received all events. */
  readonly position: number;
  readonly bookmarks: Bookmarks | undefined;
}

export interface Bookmarks {
  /** Time at which the next one is due after `now`; both in ms of the monotonic clock. */
  next(now: number): number;
}

/** One watch after its initial events or its history: waits for events of the dispatcher. */
export class CacheWatcher {
  readonly watcherSet: WatcherSet;
  readonly bookmarks: boolean;
  readonly #source: EventSource;
  readonly #bookmarks: Bookmarks | undefined;
  #position: number;
  #bookmarkAt: number;
  #waiting: ((step: Step) => void) | undefined;
  #fault: Status | undefined;
  #ended = false;

  constructor(source: EventSource, options: CacheWatcherOptions, now: number) {
    this.#source = source;
    this.watcherSet = options.watcherSet;
    this.#position = options.position;
    this.#bookmarks = options.bookmarks;
    this.bookmarks = options.bookmarks !== undefined;
    this.#bookmarkAt = options.bookmarks?.next(now) ?? 0;
    if (source.add(this, this.#position)) return;
    this.#fault = expired("too old resource version: the watch cache was reset").status;
  }

  next(): Promise<Step> {
    if (this.#fault !== undefined) return Promise.resolve(this.#errorEvent(this.#fault));
    if (this.#ended) return Promise.resolve(done);
    const missed = this.#missed();
    if (missed !== undefined) return Promise.resolve(missed);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Delivers the events of the WatcherSet after revision `after`, up to and including `to`. */
  deliver(batch: EventBatch, after: number, to: number): void {
    const waiting = this.#waiting;
    // A busy watcher reads the batch later; one added since the changes has received them already.
    if (waiting === undefined || this.#position >= to) return;
    if (this.#position > after) {
      // The watch started from a later revision: it gets only part of the batch.
      const missed = this.#missed();
      if (missed === undefined) return;
      this.#waiting = undefined;
      waiting(missed);
      return;
    }
    this.#waiting = undefined;
    this.#position = to;
    waiting({ done: false, value: batch });
  }

  /** Sends a bookmark if one is due and the watcher is idle: it has all events up to `revision`. */
  bookmark(now: number, revision: number): void {
    const waiting = this.#waiting;
    if (waiting === undefined || now < this.#bookmarkAt || this.#position > revision) return;
    this.#bookmarkAt = this.#bookmarks!.next(now);
    this.#waiting = undefined;
    this.#position = revision;
    waiting(singleBatch([{ type: "BOOKMARK", revision, initialEventsEnd: false }]));
  }

  /** Ends the watch with an error. */
  fail(status: Status): void {
    this.#source.remove(this);
    if (this.#ended || this.#fault !== undefined) return;
    this.#fault = status;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(this.#errorEvent(status));
  }

  /** Ends the watch without an event. */
  end(): void {
    this.#source.remove(this);
    this.#ended = true;
    this.#fault = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(done);
  }

  #errorEvent(status: Status): Step {
    this.#fault = undefined;
    this.#ended = true;
    return singleBatch([{ type: "ERROR", status }]);
  }

  /** The missed events; undefined = none, and the position has reached the cursor. */
  #missed(): Step | undefined {
    while (this.#position < this.#source.cursor) {
      try {
        const { events, position, committedAt } = this.#source.missed(
          this.watcherSet,
          this.#position,
          maxMissed,
        );
        this.#position = position;
        if (events.length > 0) return singleBatch(events, committedAt);
      } catch (fault) {
        const error = fault instanceof StoreFault ? faultError(fault) : fault;
        if (!(error instanceof StatusError)) throw fault;
        this.#source.remove(this);
        return this.#errorEvent(error.status);
      }
    }
    return undefined;
  }
}

/** A batch for one watch only, without a cache of encoded events. */
export function singleBatch(
  events: readonly ItemEvent[],
  committedAt?: number,
): { done: false; value: EventBatch } {
  return { done: false, value: { events, encoded: undefined, committedAt } };
}
