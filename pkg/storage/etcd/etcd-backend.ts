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
import { Caller, EtcdCallError, type Call } from "./caller.ts";
import type { EtcdTls } from "./grpc/channel.ts";
import { faultOf } from "./grpc/failures.ts";
import { EtcdWatcher } from "./watch/etcd-watcher.ts";
import { CoalescedRead } from "./coalesced-read.ts";
import { LeasePool } from "./leases.ts";
import { EndpointPool } from "./endpoint-pool.ts";
import { WatchCompacted, readEvents } from "./watch/watch-stream.ts";

export interface EtcdBackendOptions {
  /** `http://host:port`, `https://host:port` or `host:port` of the members of one cluster. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** Timeout of the first call on a connection, in ms. Default 2 s. */
  readonly dialTimeoutMs?: number;
  /** Timeout of a read on one member before it is retried on another, in ms. Default 3 s. */
  readonly readAttemptMs?: number;
  /** Timeout of a call with all its retries, in ms. Default 10 s. */
  readonly requestTimeoutMs?: number;
  /** Interval of keepalive pings in ms; etcd rejects less than 5 s. Default 10 s. */
  readonly keepAliveMs?: number;
  /** Concurrent calls; further calls are queued, up to `maxWaiting`. Default 256 and 20,000. */
  readonly maxInFlight?: number;
  readonly maxWaiting?: number;
  /** Recent events buffered for watches that start at a recent revision. Default 2 MiB. */
  readonly historyBytes?: number;
  /** Events buffered for a slow watcher before it fails with `too-slow`. Default 64 MiB. */
  readonly lagBytes?: number;
  /** Approximate number of events in a batch. Default 1,000. */
  readonly batchEvents?: number;
  /** Interval of progress notifications in ms. Default 2 s. */
  readonly progressMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** A backend over an etcd cluster, version 3.4 or newer. Connects on the first call. */
export function etcdBackend(options: EtcdBackendOptions): Backend {
  return new EtcdBackend(options);
}

class EtcdBackend implements Backend {
  readonly #endpoints: EndpointPool;
  readonly #caller: Caller;
  readonly #leases: LeasePool;
  readonly #watcher: EtcdWatcher;
  readonly #newest: CoalescedRead<number>;
  #oldest = 0;
  #closed = false;

  constructor(options: EtcdBackendOptions) {
    const { clock = systemClock, random = Math.random, requestTimeoutMs = 10_000 } = options;
    const { endpoints, tls, keepAliveMs = 10_000, readAttemptMs = 3_000 } = options;
    this.#endpoints = new EndpointPool({ endpoints, keepAliveMs, ...(tls && { tls }) }, random);
    this.#caller = new Caller({
      endpoints: this.#endpoints,
      clock,
      random,
      dialTimeoutMs: options.dialTimeoutMs ?? 2_000,
      readAttemptMs,
      requestTimeoutMs,
      maxInFlight: options.maxInFlight ?? 256,
      maxWaiting: options.maxWaiting ?? 20_000,
    });
    this.#leases = new LeasePool((seconds) => this.#grant(seconds), clock);
    this.#newest = new CoalescedRead(() => this.#readRevision());
    this.#watcher = new EtcdWatcher({
      endpoints: this.#endpoints,
      clock,
      random,
      limits: {
        historyBytes: options.historyBytes ?? 2 * 2 ** 20,
        lagBytes: options.lagBytes ?? 64 * 2 ** 20,
        batchEvents: options.batchEvents ?? 1_000,
      },
      revision: () => this.#newest.read(),
      progressMs: options.progressMs ?? 2_000,
      stallMs: readAttemptMs,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#caller.close();
    const stopped = this.#watcher[Symbol.asyncDispose]();
    this.#endpoints.close();
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
      send: (client, callOptions) => client.range(options, callOptions),
    });
  }

  async txn(transaction: Transaction): Promise<TransactionResult> {
    if (!transaction.then.some(hasTtl)) return this.#transact(transaction, []);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#transact(transaction, await this.#leasesOf(transaction));
      } catch (error) {
        // The lease expired since it was last used; nothing was applied.
        if (!(error instanceof EtcdCallError)) throw error;
        this.#leases.clear();
        if (attempt > 0) throw faultOf(error.failure, true);
      }
    }
  }

  async *watch(options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    const { fromRevision, signal, withPrevious = true } = options;
    try {
      for await (const batch of this.#watcher.watch(fromRevision, signal)) {
        yield withPrevious ? batch : withoutPrevious(batch);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  requestProgress(): void {
    this.#watcher.requestProgress();
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#call({
        // Idempotent, so it is retried like a read.
        write: false,
        signal: undefined,
        send: (client, callOptions) => client.compact(revision, callOptions),
      });
    } catch (error) {
      if (!(error instanceof StoreFault) || error.detail.kind !== "compacted") throw error;
    }
    this.#oldest = Math.max(this.#oldest, revision);
    this.#watcher.noteCompaction(revision);
  }

  get oldest(): number {
    return this.#oldest;
  }

  revision(signal?: AbortSignal): Promise<number> {
    return withSignal(this.#newest.read(), signal);
  }

  async #readRevision(): Promise<number> {
    return this.#call({
      write: false,
      signal: undefined,
      send: (client, callOptions) => client.revision(callOptions),
    });
  }

  async #grant(seconds: number): Promise<string> {
    return this.#call({
      // A lease without keys expires by itself, so the call is retried like a read.
      write: false,
      signal: undefined,
      send: (client, callOptions) => client.grantLease(seconds, callOptions),
    });
  }

  /** Completes the faults that carry a revision; an EtcdCallError is only `lease-gone`. */
  #call<T>(call: Call<T>): Promise<T> {
    return this.#caller.call(call).catch(async (error: unknown) => {
      const what = error instanceof EtcdCallError ? error.failure.what : undefined;
      if (what === "compacted") {
        throw new StoreFault({ kind: what, oldest: await this.#readOldest() });
      }
      if (what === "future-revision") {
        throw new StoreFault({ kind: what, current: await this.#newest.read() });
      }
      throw error;
    });
  }

  /** etcd reports the compaction revision only to a watch that starts before it. */
  async #readOldest(): Promise<number> {
    const connection = this.#endpoints.current();
    const deadline = AbortSignal.timeout(1_000);
    try {
      for await (const _chunk of readEvents(connection, 1, deadline)) return 1;
    } catch (error) {
      if (error instanceof WatchCompacted) return error.oldest;
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
      send: (client, callOptions) => client.txn(transaction, leases, callOptions),
    });
  }

  /** For each operation, the id of a lease if it is a put with a TTL. */
  #leasesOf({ then }: Transaction): Promise<readonly (string | undefined)[]> {
    return Promise.all(
      then.map((operation) => {
        const seconds = "put" in operation ? operation.ttlSeconds : undefined;
        return seconds === undefined ? undefined : this.#leases.idFor(seconds);
      }),
    );
  }
}

function hasTtl(operation: WriteOperation): boolean {
  return "put" in operation && Boolean(operation.ttlSeconds);
}

function withoutPrevious({ events, revision }: WatchBatch): WatchBatch {
  return { events: events.map((event) => ({ ...event, previous: undefined })), revision };
}

/** Rejects with the signal's reason when it aborts; the shared work continues. */
function withSignal<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
