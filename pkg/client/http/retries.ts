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
  /** Client-side rate limit; absent = unlimited. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
}

const maxRetries = 10;
/** Retries after connection errors: few, as callers report the error and retry themselves. */
const maxReconnects = 3;
/** Delay in ms after connection errors. */
const defaultDelayMs = 1000;
/** Maximum of Retry-After, in ms. */
const maxDelayMs = 120_000;

/**
 * Adds retries and the rate limit to a transport: retries 429 and 5xx responses with Retry-After, and
 * after connection errors the requests that cannot have had an effect: GETs, and requests that were not
 * processed.
 */
export function withRetries(send: RoundTrip, options: RetryOptions): RoundTrip {
  const bucket = options.rate && new TokenBucket(options.clock, options.rate);
  return async (request) => {
    for (let retries = 0; ; retries++) {
      await waitForRateLimiter(bucket, request, options);
      const { response, error } = await timed(send, request, options);
      const most = response === undefined ? maxReconnects : maxRetries;
      const delayMs = retries < most ? retryDelay(request, response, error) : undefined;
      if (delayMs === undefined) {
        if (response !== undefined) return response;
        throw error;
      }
      if (response !== undefined) await drain(response);
      const code = response === undefined ? "<error>" : String(response.status);
      const labels = { code, verb: request.method, host: options.host };
      options.instruments.add("rest_client_request_retries_total", labels, 1);
      await options.clock.sleep(delayMs, request.signal);
    }
  };
}

async function waitForRateLimiter(
  bucket: TokenBucket | undefined,
  { method, signal }: HttpRequest,
  { clock, host, instruments }: RetryOptions,
): Promise<void> {
  const waitMs = bucket?.reserve() ?? 0;
  const labels = { verb: method, host };
  instruments.observe("rest_client_rate_limiter_duration_seconds", labels, waitMs / 1000);
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}

interface Outcome {
  readonly response?: HttpResponse;
  readonly error?: unknown;
}

async function timed(
  send: RoundTrip,
  request: HttpRequest,
  { clock, host, instruments }: RetryOptions,
): Promise<Outcome> {
  const began = clock.monotonic();
  const { method } = request;
  const outcome: Outcome = await send(request).then(
    (response) => ({ response }),
    (error: unknown) => ({ error }),
  );
  const seconds = (clock.monotonic() - began) / 1000;
  instruments.observe("rest_client_request_duration_seconds", { verb: method, host }, seconds);
  const code = outcome.response === undefined ? "<error>" : String(outcome.response.status);
  instruments.add("rest_client_requests_total", { code, method, host }, 1);
  return outcome;
}

/** Delay in ms until the retry; undefined = no retry. */
function retryDelay(
  { method, signal }: HttpRequest,
  response: HttpResponse | undefined,
  error: unknown,
): number | undefined {
  if (signal.aborted) return undefined;
  if (response !== undefined) {
    const after = response.header("retry-after");
    const busy = response.status === 429 || response.status >= 500;
    if (!busy || !/^\d+$/.test(after)) return undefined;
    return Math.min(maxDelayMs, Number(after) * 1000);
  }
  if (!(error instanceof ConnectionError)) return undefined;
  return error.isUnprocessed || method === "GET" ? defaultDelayMs : undefined;
}

/** Reads the body to its end, as an unread one keeps its stream open. */
async function drain({ body }: HttpResponse): Promise<void> {
  for await (const chunk of body) void chunk;
}
