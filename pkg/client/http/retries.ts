import type { Clock } from "#base";
import type { Instruments } from "#request";
import { TokenBucket } from "../rate-limits.ts";
import {
  ConnectionError,
  type HttpResponse,
  type HttpRequest,
  type RoundTrip,
} from "./transport.ts";

export interface RetryOptions {
  readonly clock: Clock;
  /** Host of the server, for metrics. */
  readonly host: string;
  readonly instruments: Instruments;
  /** How often this client may ask; absent = as often as it likes. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
}

const mostRetries = 10;
/** Callers hear soon why a server is not reached; all of them go on asking. */
const mostReconnects = 3;
/** For a server that gives no time. */
const usualDelayMs = 1000;
/** No server makes a client wait for longer. */
const longestDelayMs = 120_000;

/**
 * Sends once more what a server was too busy for, in the time that it names, and what a broken
 * connection has left without an answer, if it cannot have had an effect: reads, and requests that
 * never came to be looked at. Keeps to the rate.
 */
export function withRetries(send: RoundTrip, options: RetryOptions): RoundTrip {
  const bucket = options.rate && new TokenBucket(options.clock, options.rate);
  return async (request) => {
    for (let retries = 0; ; retries++) {
      await waitForTurn(bucket, request, options);
      const { answer, fault } = await timed(send, request, options);
      const most = answer === undefined ? mostReconnects : mostRetries;
      const delayMs = retries < most ? delayOf(request, answer, fault) : undefined;
      if (delayMs === undefined) {
        if (answer !== undefined) return answer;
        throw fault;
      }
      if (answer !== undefined) await drained(answer);
      const code = answer === undefined ? "<error>" : String(answer.status);
      const labels = { code, verb: request.method, host: options.host };
      options.instruments.add("rest_client_request_retries_total", labels, 1);
      await options.clock.sleep(delayMs, request.signal);
    }
  };
}

async function waitForTurn(
  bucket: TokenBucket | undefined,
  { method, signal }: HttpRequest,
  { clock, host, instruments }: RetryOptions,
): Promise<void> {
  const waitMs = bucket?.take() ?? 0;
  const labels = { verb: method, host };
  instruments.observe("rest_client_rate_limiter_duration_seconds", labels, waitMs / 1000);
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}

interface Outcome {
  readonly answer?: HttpResponse;
  readonly fault?: unknown;
}

async function timed(
  send: RoundTrip,
  request: HttpRequest,
  { clock, host, instruments }: RetryOptions,
): Promise<Outcome> {
  const began = clock.monotonic();
  const { method } = request;
  const outcome: Outcome = await send(request).then(
    (answer) => ({ answer }),
    (fault: unknown) => ({ fault }),
  );
  const seconds = (clock.monotonic() - began) / 1000;
  instruments.observe("rest_client_request_duration_seconds", { verb: method, host }, seconds);
  const code = outcome.answer === undefined ? "<error>" : String(outcome.answer.status);
  instruments.add("rest_client_requests_total", { code, method, host }, 1);
  return outcome;
}

/** Milliseconds until the next attempt; undefined = the outcome stands. */
function delayOf(
  { method, signal }: HttpRequest,
  answer: HttpResponse | undefined,
  fault: unknown,
): number | undefined {
  if (signal.aborted) return undefined;
  if (answer !== undefined) {
    const after = answer.header("retry-after");
    const busy = answer.status === 429 || answer.status >= 500;
    if (!busy || !/^\d+$/.test(after)) return undefined;
    return Math.min(longestDelayMs, Number(after) * 1000);
  }
  if (!(fault instanceof ConnectionError)) return undefined;
  return fault.untouched || method === "GET" ? usualDelayMs : undefined;
}

/** Reads a body to its end, since an unread one keeps its stream open. */
async function drained({ body }: HttpResponse): Promise<void> {
  for await (const chunk of body) void chunk;
}
