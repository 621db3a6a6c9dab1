import { sendResponse } from "../response/response-writer.ts";
import { type Exchange, onlyReads } from "../transport/exchange.ts";
import type { Shutdown } from "../transport/shutdown.ts";
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
