import { connect } from "node:http2";
import { Readable } from "node:stream";
import { abortable, type Clock } from "#base";
import { Http2Connection } from "#client";
import type { DialTarget } from "#request";
import { BackendError, type BackendResponse } from "../contract.ts";
import { type BackendTls, dial } from "./dial.ts";
import { Http1Connections, type OutgoingRequest } from "./http1-request.ts";
import { sendHttp2 } from "./http2-request.ts";

interface PoolOptions {
  readonly address: DialTarget;
  readonly tls: BackendTls;
  readonly clock: Clock;
  /** Aborts to close all connections. */
  readonly signal: AbortSignal;
}

/** HTTP/2 flow-control window per stream, in bytes. */
const streamWindowBytes = 256 * 1024;
/** Memory limit of one session, above which Node refuses new streams. */
const sessionMemoryMb = 128;
/** Attempts per request; a connection may close as the request is sent. */
const maxAttempts = 8;
const protocols = ["h2", "http/1.1"];

/**
 * Connections to one address with the same TLS settings: HTTP/2 if the server negotiates it by ALPN,
 * else HTTP/1.1.
 */
export class ConnectionPool {
  private readonly http2 = new Set<Http2Connection>();
  private http1: Http1Connections | undefined;
  private dialing: Promise<void> | undefined;

  constructor(private readonly options: PoolOptions) {}

  /** @throws BackendError, or the signal's reason */
  async send(request: OutgoingRequest): Promise<BackendResponse> {
    for (let tries = 1; ; tries++) {
      request.signal.throwIfAborted();
      if (this.http1 !== undefined) return this.http1.send(request);
      const usable = [...this.http2].find(({ hasRoom }) => hasRoom);
      if (usable !== undefined) {
        const sent = sendHttp2(usable, request);
        if (tries === maxAttempts || request.body instanceof Readable) return sent;
        const response = await sent.catch(ignoreUnprocessed);
        if (response !== undefined) return response;
        continue;
      }
      // Concurrent requests share one dial.
      this.dialing ??= this.dial().finally(() => (this.dialing = undefined));
      await abortable(this.dialing, request.signal);
    }
  }

  /** Closes the connections once their requests have ended. */
  close(): void {
    for (const { session } of this.http2) session.close();
    this.http1?.close();
  }

  private async dial(): Promise<void> {
    const { address, tls, clock, signal } = this.options;
    const socket = await dial(address, tls, { protocols, signal });
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      this.http1 = new Http1Connections(address, tls);
      return;
    }
    const session = connect(`https://${tls.serverName}`, {
      createConnection: () => socket,
      maxSessionMemory: sessionMemoryMb,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    const connection = new Http2Connection(session, clock);
    const end = () => {
      session.destroy();
      // After a GOAWAY the session waits for the socket to close, which the server may never do.
      socket.destroy();
    };
    signal.addEventListener("abort", end, { once: true });
    session.once("close", () => {
      signal.removeEventListener("abort", end);
      this.http2.delete(connection);
    });
    this.http2.add(connection);
  }
}

/** Resolves to undefined if the request was not processed, so that it is retried. */
function ignoreUnprocessed(error: unknown): undefined {
  if (error instanceof BackendError && error.isUnprocessed) return undefined;
  throw error;
}
