import { sendResponse } from "../response/response-writer.ts";
import { type Exchange, onlyReads } from "../transport/exchange.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import { StartLimiter } from "../transport/start-limiter.ts";
import { WriteLimiter } from "../transport/write-limiter.ts";
import type { Stage } from "./middleware-chain.ts";
import { type Arrived, type Nothing, nothing } from "./state.ts";

interface ShutdownParts {
  readonly closing: Shutdown;
  /** While the server shuts down it responds 429 with Retry-After, except to health checks. */
  readonly retryAfterWhenClosing: boolean;
}

/** Rejects requests during shutdown with 429, if the server is configured to (WithRetryAfter). */
export function refuseDuringShutdown(parts: ShutdownParts): Stage<Arrived, Nothing> {
  const { closing, retryAfterWhenClosing } = parts;
  return {
    name: "refuseDuringShutdown",
    isIdle: !retryAfterWhenClosing,
    run: ({ state: { exchange } }, next) => {
      if (!closing.closing || isHealthCheck(exchange)) return next(nothing);
      const headers = { "content-type": "text/plain; charset=utf-8", "retry-after": "5" };
      const text = "The apiserver is shutting down, please try again later.\n";
      return sendResponse(exchange, { status: 429, headers }, text);
    },
  };
}

function isHealthCheck({ url }: Exchange): boolean {
  return /^\/(?:livez|readyz|healthz)\b/.test(url);
}

/**
 * Limits the time that starting requests takes per turn of the event loop, and the number of writes
 * that start; health checks are exempt. A request whose client disconnects meanwhile is not served.
 */
export function limitStarts(): Stage<Arrived, Nothing> {
  const starts = new StartLimiter();
  const writes = new WriteLimiter();
  return {
    name: "limitStarts",
    run: ({ state: { exchange } }, next) => {
      const wait = waitFor(exchange, starts, writes);
      if (wait === undefined && !exchange.response.closed) return next(nothing);
      return afterWait(wait, exchange, next);
    },
  };
}

function waitFor(
  exchange: Exchange,
  starts: StartLimiter,
  writes: WriteLimiter,
): Promise<void> | undefined {
  if (onlyReads(exchange.method)) return isHealthCheck(exchange) ? undefined : starts.enter();
  const wait = starts.enter();
  return wait === undefined ? writes.enter() : wait.then(() => writes.enter());
}

async function afterWait(
  wait: Promise<void> | undefined,
  { response }: Exchange,
  next: (added: Nothing) => Promise<void>,
): Promise<void> {
  await wait;
  if (!response.closed) return next(nothing);
  response.destroy();
}
