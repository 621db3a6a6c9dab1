import type { StatusError } from "#meta";
import { sendResponse, warningHeaders } from "./response-writer.ts";
import { statusBody } from "./encode.ts";
import type { Exchange } from "../transport/exchange.ts";
import { mediaTypes, negotiateFailure, wantsPretty } from "./negotiation.ts";

/** Sends a failure in the format that the client takes, else in JSON. */
export function sendFailure(exchange: Exchange, failure: StatusError): void {
  const { status, code, headers, warnings } = failure;
  const negotiated = negotiateFailure(exchange.header("accept"));
  const pretty = wantsPretty(undefined, exchange.header("user-agent"));
  const body = statusBody(status, { ...negotiated, pretty: negotiated.pretty || pretty });
  const seconds = status.details?.retryAfterSeconds;
  const all: Record<string, string | readonly string[]> = {
    ...(warnings.length === 0 ? {} : { warning: warningHeaders(warnings) }),
    ...(seconds === undefined || seconds <= 0 ? {} : { "retry-after": String(seconds) }),
    ...lowerCased(headers),
    "content-type": mediaTypes[negotiated.format],
  };
  sendResponse(exchange, { status: code, headers: all }, body);
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
