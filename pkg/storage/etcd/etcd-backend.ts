import { systemClock, type Clock } from "#base";
import {
  StoreFault,
  type Backend,
  type Entry,
  type RangeOptions,
  type RangeResult,
  type Transaction,
  type TransactionResult,
  type WatchBatch,
  type WatchOptions,
  type WriteOperation,
} from "../backend.ts";
import { Caller, CallFailure, type Call } from "./caller.ts";
import type { EtcdTls } from "./grpc/channel.ts";
import { faultOf } from "./grpc/failures.ts";
import { Follower } from "./watch/etcd-watcher.ts";
import { GroupRead } from "./coalesced-read.ts";
import { Leases } from "./leases.ts";
import { Links } from "./endpoint-pool.ts";
import { LogCompacted, readLog } from "./watch/watch-stream.ts";

export interface EtcdBackendOptions {
  /** `http://host:port`, `https://host:port` or `host:port` of the members of one cluster. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** For a connection to a member to come about. Default 2 s. */
  readonly dialTimeoutMs?: number;
  /** For a read to be answered before it is tried on another member. Default 3 s. */
  readonly readAttemptMs?: number;
  /** For a call as a whole, with all its retries. Default 10 s. */
  readonly requestTimeoutMs?: number;
  /** A silent connection is probed after so long; etcd refuses less than 5 s. Default 10 s. */
  readonly keepAliveMs?: number;
  /** Calls on the wire at a time; others wait, up to `maxWaiting`. Default 256 and 20,000. */
  readonly maxInFlight?: number;
  readonly maxWaiting?: number;
  /** Recent events kept for watches that start a moment ago. Default 2 MiB. */
  readonly historyBytes?: number;
  /** How far a watcher may lag before it is cut off with `too-slow`. Default 64 MiB. */
  readonly lagBytes?: number;
  /** Events in one batch, about. Default 1,000. */
  readonly batchEvents?: number;
  /** Watchers hear of progress this often. Default 2 s. */
  readonly progressMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** A backend over an etcd cluster, 3.4 or newer. Connects at the first call. */
export function etcdBackend(options: EtcdBackendOptions): Backend {
  return new EtcdBackend(options);
}

class EtcdBackend implements Backend {
  readonly #links: Links;
  readonly #caller: Caller;
  readonly #leases: Leases;
  readonly #follower: Follower;
  readonly #newest: GroupRead<number>;
  /** Watches "from now on" that do not know yet where that is; writes wait for them. */
  readonly #starting = new Set<Promise<unknown>>();
  #oldest = 0;
  #closed = false;

  constructor(options: EtcdBackendOptions) {
    const { clock = systemClock, random = Math.random, requestTimeoutMs = 10_000 } = options;
    const { endpoints, tls, keepAliveMs = 10_000, readAttemptMs = 3_000 } = options;
    this.#links = new Links({ endpoints, keepAliveMs, ...(tls && { tls }) }, random);
    this.#caller = new Caller({
      links: this.#links,
      clock,
      random,
      dialTimeoutMs: options.dialTimeoutMs ?? 2_000,
      readAttemptMs,
      requestTimeoutMs,
      maxInFlight: options.maxInFlight ?? 256,
      maxWaiting: options.maxWaiting ?? 20_000,
    });
    this.#leases = new Leases((seconds) => this.#grant(seconds), clock);
    this.#newest = new GroupRead(() => this.#readRevision());
    this.#follower = new Follower({
      links: this.#links,
      clock,
      random,
      limits: {
        historyBytes: options.historyBytes ?? 2 * 2 ** 20,
        lagBytes: options.lagBytes ?? 64 * 2 ** 20,
        batchEvents: options.batchEvents ?? 1_000,
      },
      revision: () => this.#newest.ask(),
      progressMs: options.progressMs ?? 2_000,
      stallMs: readAttemptMs,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#caller.close();
    const stopped = this.#follower[Symbol.asyncDispose]();
    this.#links.close();
    await stopped;
  }

  async get(
    key: string,
    options: { readonly revision?: number; readonly signal?: AbortSignal } = {},
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }> {
    const { entries, revision } = await this.range({ ...options, from: key });
    return { entry: entries[0], revision };
  }

  range(options: RangeOptions): Promise<RangeResult> {
    const { signal } = options;
    return this.#call({
      write: false,
      signal,
      send: (etcd, callOptions) => etcd.range(options, callOptions),
    });
  }

  async txn(transaction: Transaction): Promise<TransactionResult> {
    while (this.#starting.size > 0) await Promise.allSettled(this.#starting);
    if (!transaction.then.some(expires)) return this.#transact(transaction, []);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#transact(transaction, await this.#leasesOf(transaction));
      } catch (error) {
        // The lease ended between its last use and this one; nothing was applied.
        if (!(error instanceof CallFailure)) throw error;
        this.#leases.forgetAll();
        if (attempt > 0) throw faultOf(error.failure, true);
      }
    }
  }

  watch(options: WatchOptions): AsyncIterable<WatchBatch> {
    const { fromRevision, signal } = options;
    const start = fromRevision ?? this.#now();
    return this.#watch(options, start, signal);
  }

  requestProgress(): void {
    this.#follower.requestProgress();
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#call({
        // Twice is as good as once, so it may be repeated like a read.
        write: false,
        signal: undefined,
        send: (etcd, callOptions) => etcd.compact(revision, callOptions),
      });
    } catch (error) {
      if (!(error instanceof StoreFault) || error.detail.kind !== "compacted") throw error;
    }
    this.#oldest = Math.max(this.#oldest, revision);
    this.#follower.forget(revision);
  }

  get oldest(): number {
    return this.#oldest;
  }

  revision(signal?: AbortSignal): Promise<number> {
    return withSignal(this.#newest.ask(), signal);
  }

  async *#watch(
    options: WatchOptions,
    start: number | Promise<number>,
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    const { from, to, withPrevious = true } = options;
    try {
      for await (const batch of this.#follower.watch({ from, to }, await start, signal)) {
        yield withPrevious ? batch : withoutPrevious(batch);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** The first revision after this call; writes of this process wait until it is known. */
  #now(): Promise<number> {
    const start = this.#follower.next();
    const settled = start.catch(() => {}).finally(() => this.#starting.delete(settled));
    this.#starting.add(settled);
    return start;
  }

  async #readRevision(): Promise<number> {
    return this.#call({
      write: false,
      signal: undefined,
      send: (etcd, callOptions) => etcd.revision(callOptions),
    });
  }

  async #grant(seconds: number): Promise<string> {
    return this.#call({
      // A lease that nobody knows of goes away by itself.
      write: false,
      signal: undefined,
      send: (etcd, callOptions) => etcd.grantLease(seconds, callOptions),
    });
  }

  /** As the caller's, with the faults that carry a number completed; `lease-gone` passes. */
  #call<T>(call: Call<T>): Promise<T> {
    return this.#caller.call(call).catch(async (error: unknown) => {
      const what = error instanceof CallFailure ? error.failure.what : undefined;
      if (what === "compacted") {
        throw new StoreFault({ kind: what, oldest: await this.#askOldest() });
      }
      if (what === "future-revision") {
        throw new StoreFault({ kind: what, current: await this.#newest.ask() });
      }
      throw error;
    });
  }

  /** etcd tells the compaction revision only to a watch that starts before it. */
  async #askOldest(): Promise<number> {
    const link = this.#links.current();
    const deadline = AbortSignal.timeout(1_000);
    try {
      for await (const _chunk of readLog(link, 1, deadline)) return 1;
    } catch (error) {
      if (error instanceof LogCompacted) return error.oldest;
    }
    return 1;
  }

  #transact(
    transaction: Transaction,
    leases: readonly (string | undefined)[],
  ): Promise<TransactionResult> {
    return this.#call({
      write: transaction.then.length > 0,
      signal: transaction.signal,
      send: (etcd, callOptions) => etcd.txn(transaction, leases, callOptions),
    });
  }

  /** By the place of the put that asks for one. */
  #leasesOf({ then }: Transaction): Promise<readonly (string | undefined)[]> {
    return Promise.all(
      then.map((operation) => {
        const seconds = "put" in operation ? operation.ttlSeconds : undefined;
        return seconds === undefined ? undefined : this.#leases.idFor(seconds);
      }),
    );
  }
}

function expires(operation: WriteOperation): boolean {
  return "put" in operation && Boolean(operation.ttlSeconds);
}

function withoutPrevious({ events, revision }: WatchBatch): WatchBatch {
  return { events: events.map((event) => ({ ...event, previous: undefined })), revision };
}

/** Rejects with the signal's reason when it aborts; the shared work goes on for the others. */
function withSignal<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
