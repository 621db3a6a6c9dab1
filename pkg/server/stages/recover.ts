import type { Logger } from "#base";
import { StatusError, internalError } from "#meta";
import type { Stage } from "./middleware-chain.ts";
import { type Arrived, type Nothing, nothing } from "./state.ts";
import { ClientGone } from "../transport/exchange.ts";
import { sendFailure } from "../response/failure-response.ts";
import type { ServerParts } from "./server-parts.ts";

/** Turns whatever is thrown further in into a response, once. */
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
          error instanceof StatusError ? error : unexpected(error, exchange.auditId, logger);
        record.code = failure.code;
        // A half-sent response cannot be corrected, only cut off.
        if (response.started) return response.destroy();
        sendFailure(exchange, failure);
      }),
  };
}

/** A bug or a broken store: the client learns an id, the log the rest. */
function unexpected(error: unknown, id: string, logger: Logger): StatusError {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  logger.error("Request failed", error, { "audit-ID": id, stack });
  return internalError(`the request failed, its log entry is ${id}`);
}
