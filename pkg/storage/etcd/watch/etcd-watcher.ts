import { setMaxListeners } from "node:events";
import type { Clock } from "#base";
import { StoreFault, type WatchBatch } from "../../backend.ts";
import { EtcdCallError } from "../caller.ts";
import type { EndpointPool } from "../endpoint-pool.ts";
import { EventBuffer, type EventBufferLimits } from "./event-buffer.ts";
import { readEvents, WatchCompacted } from "./watch-stream.ts";

interface EtcdWatcherOptions {
  readonly endpoints: EndpointPool;
  readonly clock: Clock;
  readonly random: () => number;
  readonly limits: EventBufferLimits;
  /** Reads the newest revision, linearizable. */
  readonly revision: () => Promise<number>;
  /** Maximum interval of progress notifications in ms. */
  readonly progressMs: number;
  /** Time in ms after which a stream that lags behind the store's revision is reopened. */
  readonly stallMs: number;
}

/**
 * Watches all keys with one stream, resumes it at the last received revision after a reconnect, and
 * serves all watchers from one EventBuffer. A watcher that starts before the buffer first catches up
 * with a separate stream.
 */
export class EtcdWatcher implements AsyncDisposable {
  readonly #options: EtcdWatcherOptions;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #buffer: Promise<EventBuffer> | undefined;
  /** Aborts the current stream, which is then reopened. */
  #reopen = new AbortController();
  #progress: { again: boolean } | undefined;

  constructor(options: EtcdWatcherOptions) {
    this.#options = options;
    // One listener per sleep.
    setMaxListeners(0, this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const buffer = await this.#buffer?.catch(() => undefined);
    buffer?.fail(new StoreFault({ kind: "closed" }));
    this.#reopen.abort();
    await Promise.allSettled(this.#running);
  }

  /** Batches of all keys from `fromRevision` until the signal aborts. */
  async *watch(
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    let next = fromRevision;
    while (!signal.aborted) {
      const buffer = await this.#started();
      if (signal.aborted) return;
      if (next < buffer.oldest) {
        for await (const batch of this.#catchUp(next, signal)) {
          next = batch.revision + 1;
          if (batch.events.length > 0) yield batch;
          if (next >= buffer.oldest) break;
        }
        // If the stream failed or the buffer advanced, the loop continues from `next`.
        continue;
      }
      yield* buffer.read(next, signal);
    }
  }

  /** Called after a compaction to `revision`, before which no watch can start any more. */
  noteCompaction(revision: number): void {
    this.#buffer?.then((buffer) => buffer.noteCompaction(revision)).catch(() => {});
  }

  requestProgress(): void {
    if (this.#buffer === undefined || this.#stop.signal.aborted) return;
    if (this.#progress !== undefined) {
      this.#progress.again = true;
      return;
    }
    const state = { again: true };
    this.#progress = state;
    this.#trackTask(this.#notifyProgress(state).finally(() => (this.#progress = undefined)));
  }

  async #started(): Promise<EventBuffer> {
    if (this.#stop.signal.aborted) throw new StoreFault({ kind: "closed" });
    this.#buffer ??= this.#start();
    return this.#buffer;
  }

  async #start(): Promise<EventBuffer> {
    try {
      const revision = await this.#options.revision();
      const buffer = new EventBuffer(revision, this.#options.limits);
      this.#trackTask(this.#fill(buffer));
      this.#trackTask(this.#tick());
      return buffer;
    } catch (error) {
      this.#buffer = undefined;
      throw error;
    }
  }

  /** Appends to the buffer until it is ended: by disposal, or by a compaction past its end. */
  async #fill(buffer: EventBuffer): Promise<void> {
    const { endpoints } = this.#options;
    for (let failures = 0; !buffer.ended;) {
      this.#reopen = new AbortController();
      const connection = endpoints.current();
      try {
        const { signal } = this.#reopen;
        for await (const chunk of readEvents(connection, buffer.revision + 1, signal)) {
          failures = 0;
          buffer.append(chunk);
        }
      } catch (error) {
        if (buffer.ended) return;
        if (error instanceof WatchCompacted) return this.#abandon(buffer, error.oldest);
        endpoints.markUnhealthy(connection);
        failures += 1;
      }
      await this.#backOff(failures);
    }
  }

  /** Fails the readers of the buffer with `compacted`; the next watcher starts a new buffer. */
  #abandon(buffer: EventBuffer, oldest: number): void {
    this.#buffer = undefined;
    buffer.fail(new StoreFault({ kind: "compacted", oldest }));
    this.#reopen.abort();
  }

  /** Reads the history from `fromRevision`; returns when the stream fails. */
  async *#catchUp(
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    const { endpoints } = this.#options;
    const connection = endpoints.current();
    const either = AbortSignal.any([signal, this.#stop.signal]);
    try {
      for await (const { events, revision } of readEvents(connection, fromRevision, either)) {
        yield { events, revision };
      }
    } catch (error) {
      if (error instanceof WatchCompacted) {
        throw new StoreFault({ kind: "compacted", oldest: error.oldest });
      }
      if (!(error instanceof EtcdCallError)) throw error;
      endpoints.markUnhealthy(connection);
      await this.#backOff(1);
    }
  }

  async #tick(): Promise<void> {
    const { clock, progressMs } = this.#options;
    const buffer = this.#buffer;
    while (this.#buffer === buffer) {
      await clock.sleep(progressMs, this.#stop.signal).catch(() => {});
      if (this.#stop.signal.aborted) return;
      if ((await buffer)?.readers) this.requestProgress();
    }
  }

  async #notifyProgress(state: { again: boolean }): Promise<void> {
    while (state.again && this.#buffer !== undefined && !this.#stop.signal.aborted) {
      state.again = false;
      try {
        const buffer = await this.#buffer;
        const before = buffer.revision;
        const newest = await this.#options.revision();
        // etcd was restored from a backup.
        if (newest < before) return this.#abandon(buffer, newest);
        if (await this.#reaches(buffer, newest)) buffer.notifyProgress();
        else this.#reopen.abort();
      } catch {
        // The revision cannot be read; the next tick retries with another member.
        return;
      }
    }
  }

  /** Whether the buffer reaches `revision` within `stallMs`. */
  async #reaches(buffer: EventBuffer, revision: number): Promise<boolean> {
    const { clock, stallMs } = this.#options;
    const until = clock.monotonic() + stallMs;
    while (buffer.revision < revision && !buffer.ended) {
      if (clock.monotonic() >= until) return false;
      const timer = new AbortController();
      const late = clock.sleep(until - clock.monotonic(), timer.signal).catch(() => {});
      await Promise.race([buffer.moved(), late]);
      timer.abort();
    }
    return true;
  }

  /** Sleeps 50 ms doubling to 2 s, with jitter; returns at once without failures. */
  async #backOff(failures: number): Promise<void> {
    const { clock, random } = this.#options;
    if (failures === 0) return;
    const delay = Math.min(2_000, 25 * 2 ** failures) * (0.5 + random() / 2);
    await clock.sleep(delay, this.#stop.signal).catch(() => {});
  }

  #trackTask(work: Promise<void>): void {
    const tracked = work.catch(() => {}).finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }
}
