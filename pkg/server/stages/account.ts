import type { Logger } from "#base";
import type { PrometheusMetrics } from "../metrics/metrics.ts";
import { emptyRecord, type RequestRecord } from "../metrics/requests.ts";
import { accessFields, accessLevel } from "../ops/access-log.ts";
import type { Exchange } from "../transport/exchange.ts";
import { exchangeOf } from "../transport/koa-messages.ts";
import type { Stage } from "./middleware-chain.ts";
import type { Arrived, Nothing } from "./state.ts";

interface AccountParts {
  readonly metrics: PrometheusMetrics;
  readonly logger: Logger;
}

/** Code of a request whose client closed the connection before a response was sent. */
const clientClosedRequest = 499;

/** Records every request in metrics and the access log at its end. Never rejects. */
export function account(parts: AccountParts): Stage<Nothing, Arrived> {
  return {
    name: "account",
    run: async (context, next) => {
      const exchange = exchangeOf(context.req);
      const record = emptyRecord();
      const started = performance.now();
      try {
        await next({ exchange, record });
      } catch (error) {
        const fields = { "audit-ID": exchange.auditId };
        parts.logger.error("Failed to send an error response", error, fields);
        exchange.response.destroy();
      }
      finish(parts, { exchange, record, milliseconds: performance.now() - started });
      // Koa must not respond on a connection that was upgraded to another protocol.
      if (exchange.response.handedOver) context.respond = false;
      else if (!exchange.response.closed) exchange.response.destroy();
    },
  };
}

interface FinishedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly milliseconds: number;
}

function finish({ metrics, logger }: AccountParts, finished: FinishedRequest): void {
  const { exchange, record, milliseconds } = finished;
  const { status, sent } = exchange.response;
  record.code ||= status ?? clientClosedRequest;
  record.bytes = sent;
  metrics.requests.finished(record, milliseconds / 1000);
  if (logger.shows(accessLevel)) logger.info(accessLevel, "HTTP", accessFields(finished));
}
