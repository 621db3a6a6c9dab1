import type { Awaitable } from "#base";
import { sendResponse } from "../response/response-writer.ts";
import { type Exchange, onlyReads } from "../transport/exchange.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import { StartLimiter } from "../transport/start-limiter.ts";
import { WriteLimiter } from "../transport/write-limiter.ts";
import type { Stage } from "./middleware-chain.ts";
import type { Arrived, Nothing } from "./state.ts";

interface ShutdownParts {
  readonly closing: Shutdown;
  /** While the server shuts down it responds 429 with Retry-After, except to health checks. */
  readonly retryAfterWhenClosing: boolean;
}

/** Refuses requests during shutdown, where the server is configured to. */
export function refuseDuringShutdown(parts: ShutdownParts): Stage<Arrived, Nothing> {
  const { closing, retryAfterWhenClosing } = parts;
  return {
    name: "refuseDuringShutdown",
    isIdle: !retryAfterWhenClosing,
    run: ({ state: { exchange } }, next) => {
      if (!closing.closing || isHealthCheck(exchange)) return next({});
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
 * Starts requests for a bounded time per turn of the event loop, health checks at once. A request
 * whose client has left by then is not served at all.
 */
export function limitStarts(): Stage<Arrived, Nothing> {
  const limiter = new StartLimiter();
  return {
    name: "limitStarts",
    run: ({ state: { exchange } }, next) => {
      const start = (): Awaitable<void> => {
        if (!exchange.response.closed) return next({});
        return exchange.response.destroy();
      };
      const wait = isHealthCheck(exchange) ? undefined : limiter.enter();
      return wait === undefined ? start() : wait.then(start);
    },
  };
}

/** Starts a bounded number of writes per turn of the event loop. */
export function limitWrites(): Stage<Arrived, Nothing> {
  const limiter = new WriteLimiter();
  return {
    name: "limitWrites",
    run: ({ state: { exchange } }, next) => {
      const wait = onlyReads(exchange.method) ? undefined : limiter.enter();
      return wait === undefined ? next({}) : wait.then(() => next({}));
    },
  };
}
