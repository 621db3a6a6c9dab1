import type { Clock } from "#base";
import { StoreFault } from "../backend.ts";
import type { EndpointPool, EtcdConnection } from "./endpoint-pool.ts";
import type { EtcdClient } from "./etcd-client.ts";
import type { CallOptions } from "./grpc/channel.ts";
import {
  type Failure,
  failureOf,
  faultOf,
  isConnectionTrouble,
  isUnanswered,
} from "./grpc/failures.ts";

interface CallerOptions {
  readonly endpoints: EndpointPool;
  readonly clock: Clock;
  readonly random: () => number;
  /** Timeout of the first call on a connection, in ms. */
  readonly dialTimeoutMs: number;
  /** Timeout of one attempt of a read, in ms; the next attempt goes to another member. */
  readonly readAttemptMs: number;
  /** Timeout of a call with its queueing and retries, in ms. */
  readonly requestTimeoutMs: number;
  /** Concurrent calls; further calls are queued in order. */
  readonly maxInFlight: number;
  /** Queued calls; further calls are refused at once. */
  readonly maxWaiting: number;
}

export interface Call<T> {
  /** Whether the call writes: then it is retried only if it was certainly not applied. */
  readonly write: boolean;
  readonly signal: AbortSignal | undefined;
  readonly send: (client: EtcdClient, options: CallOptions) => Promise<T>;
}

/** A failed call that the backend handles; all other failures are StoreFaults. */
export class EtcdCallError extends Error {
  override readonly name = "EtcdCallError";
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** Makes unary calls with bounded concurrency, a deadline, and retries if they are safe. */
export class Caller {
  #inFlight = 0;
  #closed = false;
  readonly #waiting: (() => void)[] = [];
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  call<T>(call: Call<T>): Promise<T> {
    const { clock, requestTimeoutMs, maxInFlight } = this.#options;
    const deadline = clock.monotonic() + requestTimeoutMs;
    if (this.#inFlight < maxInFlight) return this.#attempts(call, deadline);
    return this.#wait().then(() => this.#attempts(call, deadline));
  }

  async #wait(): Promise<void> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      const message = `too many calls to etcd are queued (${this.#waiting.length})`;
      throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #attempts<T>(call: Call<T>, deadline: number): Promise<T> {
    const { endpoints, clock } = this.#options;
    const { signal } = call;
    let cause: Failure | undefined;
    this.#inFlight += 1;
    try {
      for (let attempt = 0; ; attempt += 1) {
        if (this.#closed) throw new StoreFault({ kind: "closed" });
        signal?.throwIfAborted();
        const connection = endpoints.current();
        const timeoutMs = this.#attemptTimeout(call, connection, deadline - clock.monotonic());
        try {
          const response = await call.send(connection.client, { timeoutMs, signal });
          connection.verified = true;
          return response;
        } catch (error) {
          signal?.throwIfAborted();
          cause = moreSpecific(failureOf(error), cause);
          if (isConnectionTrouble(cause)) endpoints.markUnhealthy(connection);
          const delay = this.#retryDelay(attempt);
          this.#throwUnlessRetryable(call, cause, deadline - delay);
          await clock.sleep(delay, signal);
        }
      }
    } finally {
      this.#inFlight -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** `latest` is the time after which no retry may be scheduled. */
  #throwUnlessRetryable({ write }: Call<unknown>, failure: Failure, latest: number): void {
    if (this.#closed && !write) throw new StoreFault({ kind: "closed" });
    if (isRetryable(failure, write) && this.#options.clock.monotonic() < latest) return;
    throw isHandledByBackend(failure) ? new EtcdCallError(failure) : faultOf(failure, write);
  }

  /** Timeout of one attempt in ms; `left` is the remaining time of the request. */
  #attemptTimeout(call: Call<unknown>, connection: EtcdConnection, left: number): number {
    const { dialTimeoutMs, readAttemptMs } = this.#options;
    if (!connection.verified) return Math.min(left, dialTimeoutMs);
    return call.write ? left : Math.min(left, readAttemptMs);
  }

  /** Delay in ms: 0 until every member has been tried, then 20 ms doubling to 1 s, with jitter. */
  #retryDelay(attempt: number): number {
    const { endpoints, random } = this.#options;
    const round = attempt - endpoints.count + 2;
    return round <= 0 ? 0 : Math.min(1_000, 10 * 2 ** round) * (0.5 + random() / 2);
  }
}

/** The failure to report: of two with the same meaning, a timeout is the less specific one. */
function moreSpecific(failure: Failure, before: Failure | undefined): Failure {
  const isTimeout = failure.message.startsWith("Deadline exceeded") || isUnanswered(failure);
  return isTimeout && before?.what === failure.what ? before : failure;
}

function isRetryable({ what }: Failure, write: boolean): boolean {
  return what === "not-applied" || (!write && (what === "lost" || what === "late"));
}

function isHandledByBackend({ what }: Failure): boolean {
  return what === "compacted" || what === "future-revision" || what === "lease-gone";
}
