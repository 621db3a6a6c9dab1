import { finallyDo, realClock } from "#base";
import type { Stage } from "./middleware-chain.ts";
import type { Arrived, Parsed, Timed } from "./state.ts";
import { deadlineExceeded } from "../response/failures.ts";
import { requestTimeout } from "./request-timeout.ts";
import type { ServerParts } from "./server-parts.ts";

/**
 * Aborts a request at its timeout with 504: `--request-timeout`, or the shorter one of `?timeout=`.
 * Long-running requests have none.
 */
export function deadline({ limits, clock }: ServerParts): Stage<Arrived & Parsed, Timed> {
  return {
    name: "deadline",
    run: ({ state: { exchange, record, query } }, next) => {
      const received = realClock(clock).monotonic();
      if (record.longRunning) return next({ timeoutMs: limits.requestTimeout, received });
      const milliseconds = requestTimeout(query.get("timeout"), limits.requestTimeout);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          const reason = deadlineExceeded();
          exchange.abort(reason);
          reject(reason);
        }, milliseconds);
        const work = next({ timeoutMs: milliseconds, received });
        finallyDo(work, () => clearTimeout(timer)).then(resolve, reject);
      });
    },
  };
}
