import type { Logger } from "#base";
import { StatusError, internalError } from "#meta";
import type { Stage } from "./middleware-chain.ts";
import { type Arrived, type Nothing, nothing } from "./state.ts";
import { ClientGone } from "../transport/exchange.ts";
import { sendFailure } from "../response/failure-response.ts";
import type { ServerParts } from "./server-parts.ts";

/** Translates exceptions of later stages into an error response, if none has started. */
export function recover({ logger }: ServerParts): Stage<Arrived, Nothing> {
  return {
    name: "recover",
    run: ({ state: { exchange, record } }, next) =>
      next(nothing).catch((error: unknown) => {
        const { response } = exchange;
        if (error instanceof ClientGone || exchange.reason instanceof ClientGone) {
          record.code = 499;
          return response.destroy();
        }
        const failure =
          error instanceof StatusError ? error : unexpectedError(error, exchange.auditId, logger);
        record.code = failure.code;
        // A response that has started can only be aborted.
        if (response.started) return response.destroy();
        sendFailure(exchange, failure);
      }),
  };
}

/** Logs an unexpected exception; the client receives only the audit ID of the log entry. */
function unexpectedError(error: unknown, id: string, logger: Logger): StatusError {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  logger.error("Request failed", error, { "audit-ID": id, stack });
  return internalError(`the request failed, its log entry is ${id}`);
}
