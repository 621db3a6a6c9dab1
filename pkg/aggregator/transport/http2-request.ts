import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { Readable } from "node:stream";
import type { Http2Connection } from "#client";
import { BackendError, type BackendResponse } from "../contract.ts";
import { bodyStream } from "./body-stream.ts";
import { responseHeaders } from "./headers.ts";
import { type OutgoingRequest, unsent } from "./http1-request.ts";

/** Sends a request over an HTTP/2 connection. */
export function sendHttp2(
  connection: Http2Connection,
  authority: string,
  { method, path, headers, body, signal, onClose }: OutgoingRequest,
): Promise<BackendResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { host: _host, ...rest } = headers;
    const pseudo = { ":method": method, ":path": path, ":authority": authority };
    const all = { ...rest, ...pseudo, ":scheme": "https" };
    const options = { endStream: body === undefined, signal, isLate };
    const stream = unsent(() => connection.request(all, options));
    const fail = (error?: Error) => reject(failureOf(stream, { error, signal }));
    stream.on("error", fail);
    stream.once("close", () => {
      fail();
      onClose();
    });
    stream.once("response", (answer) => resolve(responseOf(stream, answer, signal)));
    if (body instanceof Readable) body.pipe(stream);
    else if (body !== undefined) stream.end(body);
  });
}

/** Others get another connection until the server answers a PING on this one. */
function isLate(reason: unknown): boolean {
  return reason instanceof BackendError && reason.failure === "timeout";
}

function responseOf(
  stream: ClientHttp2Stream,
  headers: IncomingHttpHeaders,
  signal: AbortSignal,
): BackendResponse {
  return {
    status: Number(headers[":status"]),
    headers: responseHeaders(headers),
    body: bodyStream({
      source: stream,
      isWhole: () => !stream.aborted && !stream.rstCode,
      signal,
    }),
  };
}

function failureOf(
  stream: ClientHttp2Stream,
  { error, signal }: { readonly error: Error | undefined; readonly signal: AbortSignal },
): unknown {
  if (signal.aborted) return signal.reason;
  const isRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
  // Requests that wait for the connection fail as cancelled, with the real error as the cause.
  const cause = error?.cause instanceof Error ? error.cause : error;
  return new BackendError("unreachable", cause?.message ?? "EOF", isRefused || stream.pending);
}
