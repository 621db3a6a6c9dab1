import type { Clock } from "#base";
import { StoreFault } from "../backend.ts";
import type { CallOptions } from "./grpc/channel.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { failureOf, faultOf, isConnectionTrouble, type Failure } from "./grpc/failures.ts";
import type { Link, Links } from "./endpoint-pool.ts";

interface CallerOptions {
  readonly links: Links;
  readonly clock: Clock;
  readonly random: () => number;
  /** A member that has not answered yet is given so long to. */
  readonly dialTimeoutMs: number;
  /** A read is tried elsewhere after so long. */
  readonly readAttemptMs: number;
  /** A call as a whole, with its waiting and its retries. */
  readonly requestTimeoutMs: number;
  /** Calls on the wire at a time; the others wait in order. */
  readonly maxInFlight: number;
  /** Calls that may wait; more are refused at once. */
  readonly maxWaiting: number;
}

export interface Call<T> {
  /** A write is repeated only when it is certain that it was not applied. */
  readonly write: boolean;
  readonly signal: AbortSignal | undefined;
  readonly send: (etcd: EtcdClient, options: CallOptions) => Promise<T>;
}

/** A failure that the backend itself knows how to go on from; everything else is a StoreFault. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** Unary calls: a bounded number at a time, each with a deadline, retried where that is safe. */
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
      const message = `${this.#waiting.length} calls wait for etcd already`;
      throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #attempts<T>(call: Call<T>, deadline: number): Promise<T> {
    const { links, clock } = this.#options;
    const { signal } = call;
    let telling: Failure | undefined;
    this.#inFlight += 1;
    try {
      for (let attempt = 0; ; attempt += 1) {
        if (this.#closed) throw new StoreFault({ kind: "closed" });
        signal?.throwIfAborted();
        const link = links.current();
        const timeoutMs = this.#until(call, link, deadline - clock.monotonic());
        try {
          const answer = await call.send(link.etcd, { timeoutMs, signal });
          link.proven = true;
          return answer;
        } catch (error) {
          signal?.throwIfAborted();
          telling = moreTelling(failureOf(error), telling);
          if (isConnectionTrouble(telling)) links.suspect(link);
          const pause = this.#pause(attempt);
          this.#giveUp(call, telling, deadline - pause);
          await clock.sleep(pause, signal);
        }
      }
    } finally {
      this.#inFlight -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Throws unless the call may be tried again, which would be after `deadline` otherwise. */
  #giveUp({ write }: Call<unknown>, failure: Failure, deadline: number): void {
    if (this.#closed && !write) throw new StoreFault({ kind: "closed" });
    if (repeatable(failure, write) && this.#options.clock.monotonic() < deadline) return;
    throw numbered(failure) ? new CallFailure(failure) : faultOf(failure, write);
  }

  /** How long one attempt may take, in milliseconds from now. */
  #until(call: Call<unknown>, link: Link, left: number): number {
    const { dialTimeoutMs, readAttemptMs } = this.#options;
    if (!link.proven) return Math.min(left, dialTimeoutMs);
    return call.write ? left : Math.min(left, readAttemptMs);
  }

  /** The first tries follow at once while there are members left; then 20 ms doubling to 1 s. */
  #pause(attempt: number): number {
    const { links, random } = this.#options;
    const round = attempt - links.count + 2;
    return round <= 0 ? 0 : Math.min(1_000, 10 * 2 ** round) * (0.5 + random() / 2);
  }
}

/** A last try that had no time left says less than the one before it, if they mean the same. */
function moreTelling(failure: Failure, before: Failure | undefined): Failure {
  const ranOut = failure.message.startsWith("Deadline exceeded");
  return ranOut && before?.what === failure.what ? before : failure;
}

function repeatable({ what }: Failure, write: boolean): boolean {
  return what === "not-applied" || (!write && (what === "lost" || what === "late"));
}

function numbered({ what }: Failure): boolean {
  return what === "compacted" || what === "future-revision" || what === "lease-gone";
}
