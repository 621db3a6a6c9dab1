import { setMaxListeners } from "node:events";
import type { Clock } from "#base";
import { StoreFault, type WatchBatch } from "../../backend.ts";
import { EventLog, inRange, type EventLogLimits, type Range } from "./event-buffer.ts";
import type { Links } from "../endpoint-pool.ts";
import { LogCompacted, readLog } from "./watch-stream.ts";

interface FollowerOptions {
  readonly links: Links;
  readonly clock: Clock;
  readonly random: () => number;
  readonly limits: EventLogLimits;
  /** The newest revision, linearizable. */
  readonly revision: () => Promise<number>;
  /** Watchers hear of progress this often at least. */
  readonly progressMs: number;
  /** A stream that did not bring what the store says it has is opened anew after so long. */
  readonly stallMs: number;
}

/**
 * Follows the whole log over one stream as long as there are watchers, reconnects where it stopped,
 * and serves every watcher from one EventLog. A watcher that starts before the log does first reads
 * up to it over a stream of its own.
 */
export class Follower implements AsyncDisposable {
  readonly #options: FollowerOptions;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #log: Promise<EventLog> | undefined;
  /** Ends the stream now open, so that it is opened anew. */
  #reopen = new AbortController();
  #progress: { again: boolean } | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
    // One listener per pause that is waited for.
    setMaxListeners(0, this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const log = await this.#log?.catch(() => undefined);
    log?.fail(new StoreFault({ kind: "closed" }));
    this.#reopen.abort();
    await Promise.allSettled(this.#running);
  }

  async *watch(
    range: Range,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    let next = fromRevision;
    while (!signal.aborted) {
      const log = await this.#started();
      if (signal.aborted) return;
      if (next < log.oldest) {
        for await (const batch of this.#catchUp(range, next, signal)) {
          next = batch.revision + 1;
          if (batch.events.length > 0) yield batch;
          if (next >= log.oldest) break;
        }
        // A stream that broke, or the log moved on meanwhile: both mean going on from `next`.
        continue;
      }
      yield* log.read(range, next, signal);
    }
  }

  /** The first revision after the moment of this call; a watch from there needs no catching up. */
  async next(): Promise<number> {
    await this.#started();
    return (await this.#options.revision()) + 1;
  }

  /** After a compaction up to `revision`: watches no longer start before it. */
  forget(revision: number): void {
    this.#log?.then((log) => log.forget(revision)).catch(() => {});
  }

  requestProgress(): void {
    if (this.#log === undefined || this.#stop.signal.aborted) return;
    if (this.#progress !== undefined) {
      this.#progress.again = true;
      return;
    }
    const state = { again: true };
    this.#progress = state;
    this.#own(this.#tellProgress(state).finally(() => (this.#progress = undefined)));
  }

  async #started(): Promise<EventLog> {
    if (this.#stop.signal.aborted) throw new StoreFault({ kind: "closed" });
    this.#log ??= this.#start();
    return this.#log;
  }

  async #start(): Promise<EventLog> {
    try {
      const position = await this.#options.revision();
      const log = new EventLog(position, this.#options.limits);
      this.#own(this.#follow(log));
      this.#own(this.#tick());
      return log;
    } catch (error) {
      this.#log = undefined;
      throw error;
    }
  }

  /** Until the follower stops; or until the log cannot be gone on with, which ends its readers. */
  async #follow(log: EventLog): Promise<void> {
    const { links } = this.#options;
    for (let failures = 0; !log.ended;) {
      this.#reopen = new AbortController();
      const link = links.current();
      try {
        for await (const chunk of readLog(link, log.position + 1, this.#reopen.signal)) {
          failures = 0;
          log.append(chunk);
        }
      } catch (error) {
        if (log.ended) return;
        if (error instanceof LogCompacted) return this.#abandon(log, error.oldest);
        links.suspect(link);
        failures += 1;
      }
      await this.#backOff(failures);
    }
  }

  /** Readers start over with the fault; the next watcher starts a new log. */
  #abandon(log: EventLog, oldest: number): void {
    this.#log = undefined;
    log.fail(new StoreFault({ kind: "compacted", oldest }));
    this.#reopen.abort();
  }

  /** One attempt at the history from `fromRevision`; returns early when the stream breaks. */
  async *#catchUp(
    range: Range,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    const { links } = this.#options;
    const link = links.current();
    const wants = inRange(range);
    const either = AbortSignal.any([signal, this.#stop.signal]);
    try {
      for await (const { events, revision } of readLog(link, fromRevision, either)) {
        yield { events: events.filter(wants), revision };
      }
    } catch (error) {
      if (error instanceof LogCompacted) {
        throw new StoreFault({ kind: "compacted", oldest: error.oldest });
      }
      if (!(error instanceof Error) || error.name !== "CallFailure") throw error;
      links.suspect(link);
      await this.#backOff(1);
    }
  }

  async #tick(): Promise<void> {
    const { clock, progressMs } = this.#options;
    const log = this.#log;
    while (this.#log === log) {
      await clock.sleep(progressMs, this.#stop.signal).catch(() => {});
      if (this.#stop.signal.aborted) return;
      if ((await log)?.readers) this.requestProgress();
    }
  }

  async #tellProgress(state: { again: boolean }): Promise<void> {
    while (state.again && this.#log !== undefined && !this.#stop.signal.aborted) {
      state.again = false;
      try {
        const log = await this.#log;
        const before = log.position;
        const newest = await this.#options.revision();
        if (newest < before) return this.#abandon(log, newest);
        if (await this.#reaches(log, newest)) log.progress();
        else this.#reopen.abort();
      } catch {
        // No answer, no progress: the next tick asks again, and calls have moved to another member.
        return;
      }
    }
  }

  /** Whether the log gets as far as `revision` in time. */
  async #reaches(log: EventLog, revision: number): Promise<boolean> {
    const { clock, stallMs } = this.#options;
    const until = clock.monotonic() + stallMs;
    while (log.position < revision && !log.ended) {
      if (clock.monotonic() >= until) return false;
      const timer = new AbortController();
      const late = clock.sleep(until - clock.monotonic(), timer.signal).catch(() => {});
      await Promise.race([log.moved(), late]);
      timer.abort();
    }
    return true;
  }

  /** 50 ms doubling to 2 s, with jitter; none when nothing failed. */
  async #backOff(failures: number): Promise<void> {
    const { clock, random } = this.#options;
    if (failures === 0) return;
    const pause = Math.min(2_000, 25 * 2 ** failures) * (0.5 + random() / 2);
    await clock.sleep(pause, this.#stop.signal).catch(() => {});
  }

  #own(work: Promise<void>): void {
    const owned = work.catch(() => {}).finally(() => this.#running.delete(owned));
    this.#running.add(owned);
  }
}
