import { type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { Readable, type Duplex } from "node:stream";
import { dialFailure, dialTimedOut } from "#base";
import { TlsAgent } from "#pki";
import type { DialTarget } from "#request";
import { BackendError, type BackendResponse } from "../contract.ts";
import { bodyStream } from "./body-stream.ts";
import { type BackendTls, dial, dialMs, tlsOptions } from "./dial.ts";
import { responseHeaders } from "./headers.ts";

/** A request with its complete headers. */
export interface OutgoingRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Readable | Uint8Array | undefined;
  /** Aborts the exchange, body included. */
  readonly signal: AbortSignal;
  /** Called once, when the exchange has ended. */
  readonly onClose: () => void;
}

/** Response to a request with an `Upgrade` header. */
export type UpgradeResponse =
  | { readonly kind: "response"; readonly response: BackendResponse }
  | {
      readonly kind: "upgraded";
      readonly message: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Uint8Array;
    };

/** The backend closed an idle keep-alive connection as the request was sent: retried once. */
class StaleConnection extends BackendError {
  constructor(message: string) {
    super("unreachable", message, true);
  }
}

const http1 = ["http/1.1"] as const;
/** Connections to one address; further requests are queued by the agent. */
const maxConnections = 1_000;
const maxIdleConnections = 32;
const idleMs = 90_000;

/** HTTP/1.1 connections to one address. */
export class Http1Connections {
  private readonly agent: TlsAgent;

  constructor(
    private readonly address: DialTarget,
    tls: BackendTls,
  ) {
    this.agent = new TlsAgent({
      ...tlsOptions(tls, http1),
      keepAlive: true,
      maxSockets: maxConnections,
      maxFreeSockets: maxIdleConnections,
      timeout: idleMs,
    });
  }

  /** @throws BackendError, or the signal's reason */
  async send(request: OutgoingRequest): Promise<BackendResponse> {
    const { address, agent } = this;
    const options = { ...address, protocol: "https:", agent };
    const result = await exchange(options, address, request).catch((error: unknown) => {
      // The retry dials: a server that closes one idle connection has usually closed them all.
      if (error instanceof StaleConnection) return exchange(options, address, request);
      throw error;
    });
    if (result.kind === "response") return result.response;
    result.socket.destroy();
    throw new BackendError("unreachable", "unexpected switch of protocols");
  }

  close(): void {
    this.agent.destroy();
  }
}

/** Sends an upgrade request on a dedicated connection. */
export async function sendUpgrade(
  address: DialTarget,
  tls: BackendTls,
  request: OutgoingRequest,
): Promise<UpgradeResponse> {
  const { signal } = request;
  const socket = await dial(address, tls, { protocols: http1, signal });
  return exchange({ ...address, createConnection: () => socket }, address, request);
}

function exchange(
  options: RequestOptions,
  address: DialTarget,
  { method, path, headers, body, signal, onClose }: OutgoingRequest,
): Promise<UpgradeResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = startRequest(() => httpRequest({ ...options, method, path, headers }));
    let wasSent = false;
    let timer: NodeJS.Timeout | undefined;
    const dialLate = () =>
      request.destroy(new BackendError("unreachable", dialTimedOut(address), true));
    const abort = () => request.destroy();
    signal.addEventListener("abort", abort, { once: true });
    request.once("socket", (socket) => {
      const sent = () => {
        clearTimeout(timer);
        wasSent = true;
      };
      const isReady = request.reusedSocket || options.createConnection !== undefined;
      if (isReady) return sent();
      timer = setTimeout(dialLate, dialMs);
      socket.once("secureConnect", sent);
    });
    request.once("close", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      onClose();
    });
    request.once("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) return reject(signal.reason as Error);
      if (error instanceof BackendError) return reject(error);
      const isStale = request.reusedSocket && error.code === "ECONNRESET" && method === "GET";
      const why = dialFailure(address, error);
      reject(isStale ? new StaleConnection(why) : new BackendError("unreachable", why, !wasSent));
    });
    const authority = String(headers["host"]);
    request.once("response", (message) =>
      resolve({ kind: "response", response: responseOf(message, { authority, signal }) }),
    );
    request.once("upgrade", (message, socket, head) => {
      signal.removeEventListener("abort", abort);
      resolve({ kind: "upgraded", message, socket, head });
    });
    if (body instanceof Readable) body.pipe(request);
    else request.end(body);
  });
}

/**
 * Starts a request with Node, which throws for header values with control characters and for
 * connections that are closing.
 * @throws BackendError with `isUnprocessed`
 */
export function startRequest<T>(start: () => T): T {
  try {
    return start();
  } catch (error) {
    throw new BackendError("unreachable", (error as Error).message, true);
  }
}

function responseOf(
  message: IncomingMessage,
  { authority, signal }: { readonly authority: string; readonly signal: AbortSignal },
): BackendResponse {
  return {
    authority,
    status: message.statusCode ?? 502,
    headers: responseHeaders(message.headers),
    body: bodyStream({ source: message, isComplete: () => message.complete, signal }),
  };
}
