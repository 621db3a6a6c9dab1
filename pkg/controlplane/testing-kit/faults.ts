import type { Clock } from "#base";
import {
  alreadyExists,
  conflict,
  expired,
  internalError,
  serviceUnavailable,
  type StatusError,
  timeout,
  tooManyRequests,
} from "#meta";
import type { InterceptedRequest, WatchFilter } from "#server";
import {
  checkFilter,
  type DescribedRequest,
  matches,
  type RequestFilter,
} from "./request-filter.ts";

/**
 * How a request fails. 409: Conflict, AlreadyExists for a create; 410: Expired; 429 with
 * Retry-After; timeout: 504 immediately; slow: executed after `delayMs`.
 */
export type Failure = 409 | 410 | 429 | 500 | 503 | "timeout" | "slow";

export interface Fault extends RequestFilter {
  readonly fail: Failure;
  /** Number of requests that fail; default 1. */
  readonly times?: number;
  /** Delay of `slow` in ms of the server's clock; default 1,000. */
  readonly delayMs?: number;
  /** Retry-After of 429 in seconds; default 1. */
  readonly retryAfterSeconds?: number;
}

export interface Faults {
  /** Fails the next requests that match; several faults apply in their order. */
  next(fault: Fault): void;
  /** Ends the open watches that match, as a server does at their timeout. Returns their number. */
  cutWatches(filter?: RequestFilter): number;
  /** Fails the open watches that match with an ERROR event 410 Expired. Returns their number. */
  expireWatches(filter?: RequestFilter): number;
  /**
   * Delays the events of open and later watches by `delayMs` of the server's clock; 0 = stop
   * delaying.
   */
  delayWatches(delayMs: number, filter?: RequestFilter): void;
  /** Number of requests that will still fail. */
  pending(): number;
  /** Removes all faults and delays. */
  clear(): void;
}

interface Delay {
  readonly filter: RequestFilter;
  readonly delayMs: number;
}

/** An open watch. */
interface OpenWatch {
  readonly request: DescribedRequest;
  /** Ends the watch, with an error if there is one. */
  end: (error?: StatusError) => void;
}

export interface FaultStage extends Faults {
  /** Consumes and returns the fault for the request; undefined = none. */
  take(request: DescribedRequest): Fault | undefined;
  /** Applies the fault. @throws StatusError unless the request is only slow */
  apply(fault: Fault, request: InterceptedRequest): Promise<void>;
  /** The filter for the events of a watch. */
  watch(request: DescribedRequest, signal: AbortSignal): WatchFilter;
}

const failures: ReadonlySet<unknown> = new Set([409, 410, 429, 500, 503, "timeout", "slow"]);
const defaultDelayMs = 1_000;
const maxFaults = 10_000;
const maxDelayMs = 3_600_000;

/** @throws TypeError that names the member */
function checkFault(value: object): Fault {
  checkFilter(value, ["fail", "times", "delayMs", "retryAfterSeconds"]);
  const { fail, times = 1, delayMs = 0, retryAfterSeconds = 1 } = value as Fault;
  if (!failures.has(fail)) {
    throw new TypeError(`fail must be one of ${[...failures].join(", ")}`);
  }
  checkInteger("times", times, maxFaults);
  checkInteger("delayMs", delayMs, maxDelayMs);
  checkInteger("retryAfterSeconds", retryAfterSeconds, maxDelayMs);
  return value as Fault;
}

function checkInteger(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw new TypeError(`${name} must be an integer from 0 to ${most}`);
}

/** Creates the faults of a server. `clock` returns its clock, which a reset replaces. */
export function faultStage(clock: () => Clock): FaultStage {
  let faults: { readonly fault: Fault; left: number }[] = [];
  let delays: Delay[] = [];
  const open = new Set<OpenWatch>();
  const endWatches = (filter: RequestFilter, error?: () => StatusError) => {
    const found = [...open].filter(({ request }) => matches(filter, request));
    for (const watch of found) watch.end(error?.());
    return found.length;
  };
  const delayOf = (request: DescribedRequest) =>
    delays.findLast(({ filter }) => matches(filter, request))?.delayMs ?? 0;
  return {
    next: (fault) => {
      checkFault(fault);
      if (faults.length >= maxFaults) throw new RangeError(`more than ${maxFaults} faults`);
      faults.push({ fault, left: fault.times ?? 1 });
    },
    cutWatches: (filter = {}) => endWatches(checkFilter(filter)),
    expireWatches: (filter = {}) => endWatches(checkFilter(filter), watchExpired),
    delayWatches: (delayMs, filter = {}) => {
      checkInteger("delayMs", delayMs, maxDelayMs);
      if (delays.length >= maxFaults) throw new RangeError(`more than ${maxFaults} delays`);
      delays.push({ filter: checkFilter(filter), delayMs });
    },
    pending: () => faults.reduce((sum, { left }) => sum + left, 0),
    clear: () => {
      faults = [];
      delays = [];
    },
    take: (request) => {
      faults = faults.filter(({ left }) => left > 0);
      const found = faults.find(({ fault }) => matches(fault, request));
      if (found === undefined) return undefined;
      found.left--;
      return found.fault;
    },
    apply: async (fault, request) => {
      const error = errorOf(fault, request);
      if (error !== undefined) throw error;
      await clock().sleep(fault.delayMs ?? defaultDelayMs, request.signal);
    },
    watch: (request, signal) => (events) =>
      filtered(events, { request, open, signal, clock: clock(), delayMs: () => delayOf(request) }),
  };
}

function watchExpired(): StatusError {
  return expired("The resourceVersion for the provided watch is too old.");
}

/** Undefined for a request that is only slow. */
function errorOf(
  { fail, retryAfterSeconds }: Fault,
  { info }: InterceptedRequest,
): StatusError | undefined {
  const resource = { group: info.group, plural: info.resource };
  switch (fail) {
    case 409:
      return info.verb === "create"
        ? alreadyExists(resource, info.name)
        : conflict(resource, info.name);
    case 410:
      return watchExpired();
    case 429:
      return tooManyRequests("Too many requests, please try again later.", retryAfterSeconds);
    case 500:
      return internalError("a fault of the test");
    case 503:
      return serviceUnavailable("a fault of the test");
    case "timeout":
      return timeout(
        "request did not complete within requested timeout - context deadline exceeded",
      );
    case "slow":
      return undefined;
  }
}

interface Filtering {
  readonly request: DescribedRequest;
  readonly open: Set<OpenWatch>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly delayMs: () => number;
}

/** Yields the events until a fault ends the watch, delayed if a fault delays them. */
async function* filtered<E>(
  events: AsyncIterableIterator<E>,
  { request, open, signal, clock, delayMs }: Filtering,
): AsyncIterableIterator<E> {
  const life = new AbortController();
  const ended: { error?: StatusError | undefined } = {};
  const watch: OpenWatch = {
    request,
    end: (error) => {
      ended.error = error;
      life.abort();
    },
  };
  open.add(watch);
  try {
    for (;;) {
      const step = await unlessAborted(life.signal, events.next());
      if (ended.error !== undefined) throw ended.error;
      if (step === undefined || step.done === true) return;
      const delay = delayMs();
      if (delay > 0) {
        const either = AbortSignal.any([signal, life.signal]);
        await clock.sleep(delay, either).catch(() => undefined);
      }
      if (ended.error !== undefined) throw ended.error;
      if (life.signal.aborted) return;
      yield step.value;
    }
  } finally {
    open.delete(watch);
    void events.return?.();
  }
}

/** Resolves with undefined if the signal aborts first. */
function unlessAborted<T>(signal: AbortSignal, step: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    step.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
