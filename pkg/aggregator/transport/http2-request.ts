import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { Readable } from "node:stream";
import type { Http2Connection } from "#client";
import { BackendError, type BackendResponse } from "../contract.ts";
import { bodyStream } from "./body-stream.ts";
import { responseHeaders } from "./headers.ts";
import { type OutgoingRequest, startRequest } from "./http1-request.ts";

/** Sends a request over an HTTP/2 connection. */
export function sendHttp2(
  connection: Http2Connection,
  { method, path, headers, body, signal, onClose }: OutgoingRequest,
): Promise<BackendResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { host: authority, ...rest } = headers;
    const pseudo = { ":method": method, ":path": path, ":authority": authority };
    const all = { ...rest, ...pseudo, ":scheme": "https" };
    const options = { endStream: body === undefined, signal, isLate: isTimeout };
    const stream = startRequest(() => connection.request(all, options));
    const fail = (error?: Error) => reject(failureOf(stream, { error, signal }));
    stream.on("error", fail);
    stream.once("close", () => {
      fail();
      onClose();
    });
    stream.once("response", (head) =>
      resolve(responseOf(stream, head, { authority: String(authority), signal })),
    );
    if (body instanceof Readable) body.pipe(stream);
    else if (body !== undefined) stream.end(body);
  });
}

/** A timeout marks the connection as unhealthy: it takes no requests until a PING is acknowledged. */
function isTimeout(reason: unknown): boolean {
  return reason instanceof BackendError && reason.failure === "timeout";
}

function responseOf(
  stream: ClientHttp2Stream,
  headers: IncomingHttpHeaders,
  { authority, signal }: { readonly authority: string; readonly signal: AbortSignal },
): BackendResponse {
  return {
    authority,
    status: Number(headers[":status"]),
    headers: responseHeaders(headers),
    body: bodyStream({
      source: stream,
      isComplete: () => !stream.aborted && !stream.rstCode,
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
  // Node cancels streams that are pending when the session fails; the session's error is the cause.
  const cause = error?.cause instanceof Error ? error.cause : error;
  return new BackendError("unreachable", cause?.message ?? "EOF", isRefused || stream.pending);
}
