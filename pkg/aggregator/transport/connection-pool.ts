import { connect } from "node:http2";
import { Readable } from "node:stream";
import { type Clock, hostAndPort } from "#base";
import { Http2Connection } from "#client";
import type { ServiceAddress } from "#request";
import { BackendError, type BackendResponse } from "../contract.ts";
import { type BackendTls, dial } from "./dial.ts";
import { Http1Connections, type OutgoingRequest } from "./http1-request.ts";
import { sendHttp2 } from "./http2-request.ts";

interface PoolOptions {
  readonly address: ServiceAddress;
  readonly tls: BackendTls;
  readonly clock: Clock;
  /** Aborts to close all connections. */
  readonly signal: AbortSignal;
}

/** Bytes of a response that may be under way to this server before it has read any. */
const streamWindow = 256 * 1024;
/** Memory of one connection in MB, above which Node refuses more streams. */
const sessionMemory = 128;
/** Tries per request on connections that close at that moment. */
const mostTries = 8;
const protocols = ["h2", "http/1.1"];

/**
 * Connections to one address with the same TLS settings: HTTP/2 where the server negotiates it, else
 * HTTP/1.1.
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
      const { address } = this.options;
      if (usable !== undefined) {
        const sent = sendHttp2(usable, hostAndPort(address), request);
        if (tries === mostTries || request.body instanceof Readable) return sent;
        const response = await sent.catch(ignoreUntouched);
        if (response !== undefined) return response;
        continue;
      }
      // Requests that come meanwhile share the connection.
      this.dialing ??= this.dial().finally(() => (this.dialing = undefined));
      await untilAborted(this.dialing, request.signal);
    }
  }

  /** Ends connections after the requests on them. */
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
      maxSessionMemory: sessionMemory,
      settings: { enablePush: false, initialWindowSize: streamWindow },
    });
    const connection = new Http2Connection(session, clock);
    const end = () => {
      session.destroy();
      // A session that the server has ended waits for the end of its socket, which may never come.
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

/** Undefined for a request that a closing connection did not take. */
function ignoreUntouched(error: unknown): undefined {
  if (error instanceof BackendError && error.untouched) return undefined;
  throw error;
}

/** Waits for shared work no longer than the signal allows. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
