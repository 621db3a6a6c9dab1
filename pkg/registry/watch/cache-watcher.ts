import { expired, type Resource, type Status } from "#meta";
import { StoreFault } from "#storage";
import type { Selection } from "../read/selection.ts";
import type { EventBatch, ItemEvent } from "../contract.ts";
import { faultError } from "../codec/faults.ts";

/** Watches of one selection: events are selected and encoded once for all of them. */
export interface WatcherSet {
  readonly id: string;
  readonly resource: Resource;
  readonly prefix: string;
  readonly selection: Selection;
  readonly watchers: Set<CacheWatcher>;
}

/** Events that a busy watcher has not seen yet. */
export interface MissedEvents {
  readonly events: readonly ItemEvent[];
  /** Revision up to which the events are complete. */
  readonly position: number;
  /** When the oldest of the changes was committed, as `performance.now()`. */
  readonly committedAt: number | undefined;
}

/** What delivers events to watchers: the dispatcher of a collection. */
interface EventSource {
  /** Revision up to which changes have been delivered. */
  readonly cursor: number;
  /** False when the changes after `position` are no longer at hand. */
  add(watcher: CacheWatcher, position: number): boolean;
  remove(watcher: CacheWatcher): void;
  /** At most about `most` of the changes after `position`. */
  missed(set: WatcherSet, position: number, most: number): MissedEvents;
}

type Step = IteratorResult<EventBatch, undefined>;

const done: Step = { done: true, value: undefined };
/** Approximate number of changes that a lagging watcher reads at a time. */
const mostMissed = 1000;

interface CacheWatcherOptions {
  readonly watcherSet: WatcherSet;
  /** Revision up to which the watcher has seen all events. */
  readonly position: number;
  readonly bookmarks: Bookmarks | undefined;
}

export interface Bookmarks {
  /** When the next one is due after `now`; both in milliseconds since 1970. */
  next(now: number): number;
}

/** One watch, once it has delivered its initial events or its history. */
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
    if (this.#fault !== undefined) return Promise.resolve(this.#lastWords(this.#fault));
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
    // A busy watcher reads the batch later; one that was added since has already seen it.
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

  /** Sends a bookmark if one is due: an idle watcher has seen everything up to `revision`. */
  bookmark(now: number, revision: number): void {
    const waiting = this.#waiting;
    if (waiting === undefined || now < this.#bookmarkAt || this.#position > revision) return;
    this.#bookmarkAt = this.#bookmarks!.next(now);
    this.#waiting = undefined;
    this.#position = revision;
    waiting(alone([{ type: "BOOKMARK", revision, initialEventsEnd: false }]));
  }

  /** Ends the watch with an error. */
  fail(status: Status): void {
    this.#source.remove(this);
    if (this.#ended || this.#fault !== undefined) return;
    this.#fault = status;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(this.#lastWords(status));
  }

  end(): void {
    this.#source.remove(this);
    this.#ended = true;
    this.#fault = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(done);
  }

  #lastWords(status: Status): Step {
    this.#fault = undefined;
    this.#ended = true;
    return alone([{ type: "ERROR", status }]);
  }

  /** The missed events; undefined = none, and the position has reached the cursor. */
  #missed(): Step | undefined {
    while (this.#position < this.#source.cursor) {
      try {
        const { events, position, committedAt } = this.#source.missed(
          this.watcherSet,
          this.#position,
          mostMissed,
        );
        this.#position = position;
        if (events.length > 0) return alone(events, committedAt);
      } catch (fault) {
        if (!(fault instanceof StoreFault)) throw fault;
        this.#source.remove(this);
        return this.#lastWords(faultError(fault).status);
      }
    }
    return undefined;
  }
}

/** A batch for one watch only. */
export function alone(
  events: readonly ItemEvent[],
  committedAt?: number,
): { done: false; value: EventBatch } {
  return { done: false, value: { events, encoded: undefined, committedAt } };
}
