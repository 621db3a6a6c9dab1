import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Clock } from "#base";
import { connectTls } from "#pki";
import type { Endpoint } from "#request";
import { Http2Connection } from "./http2-connection.ts";
import {
  ConnectionError,
  type HttpResponse,
  type HttpRequest,
  type RoundTrip,
} from "./transport.ts";

export interface ConnectionOptions {
  /**
   * Called for every new connection, so that renewed certificates are used; its `authorization` is
   * called for every request.
   */
  readonly endpoint: () => Endpoint;
  readonly clock: Clock;
  /** Aborts to close all connections. */
  readonly signal: AbortSignal;
}

/** A transport over a minimal number of HTTP/2 connections. */
export function http2Transport(options: ConnectionOptions): RoundTrip {
  const pool = new Pool(options);
  return (request) => pool.send(request);
}

class Pool {
  private readonly open = new Map<ClientHttp2Session, Connection>();

  constructor(private readonly options: ConnectionOptions) {
    options.signal.addEventListener("abort", () => this.close(), { once: true });
  }

  send(request: HttpRequest): Promise<HttpResponse> {
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    const usable = [...this.open.values()].find((each) => each.hasRoom);
    return (usable ?? this.connect()).send(request);
  }

  private connect(): Connection {
    const connection = new Connection(this.options.endpoint(), this.options.clock);
    const { session } = connection;
    this.open.set(session, connection);
    session.once("close", () => this.open.delete(session));
    return connection;
  }

  private close(): void {
    for (const session of this.open.keys()) session.destroy();
  }
}

class Connection {
  private readonly connection: Http2Connection;

  constructor(
    private readonly endpoint: Endpoint,
    clock: Clock,
  ) {
    const { origin, hostname, port, protocol } = endpoint.url;
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const dialled = { host, port: Number(port || 443), ALPNProtocols: ["h2"], ...endpoint.tls };
    const tls = protocol === "https:" ? { createConnection: () => connectTls(dialled) } : {};
    this.connection = new Http2Connection(connect(origin, tls), clock);
  }

  get session(): ClientHttp2Session {
    return this.connection.session;
  }

  get hasRoom(): boolean {
    return this.connection.hasRoom;
  }

  send(request: HttpRequest): Promise<HttpResponse> {
    const { method, path, headers, body, signal } = request;
    const authorization = this.endpoint.authorization();
    const prefix = this.endpoint.url.pathname.replace(/\/$/, "");
    const stream = this.connection.request(
      {
        ...headers,
        ...(authorization === undefined ? {} : { authorization }),
        ":method": method,
        ":path": `${prefix}${path}`,
      },
      { endStream: body === undefined, signal },
    );
    if (body !== undefined) stream.end(body);
    return this.responseOf(stream, signal);
  }

  private responseOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      let hasResponse = false;
      const fail = (error?: Error) => {
        if (!hasResponse) reject(this.connectionError(stream, { signal, error }));
      };
      // Errors after the response headers reach the reader of the body.
      stream.on("error", fail);
      stream.once("close", () => fail());
      stream.once("response", (headers: IncomingHttpHeaders) => {
        hasResponse = true;
        resolve({
          status: Number(headers[":status"]),
          header: (name) => String(headers[name] ?? ""),
          body: this.bodyOf(stream, signal),
        });
      });
    });
  }

  private async *bodyOf(
    stream: ClientHttp2Stream,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of stream) yield chunk as Uint8Array;
    } catch (error) {
      throw this.connectionError(stream, { signal, error: error as Error });
    }
    if (signal.aborted) throw signal.reason;
    const { rstCode } = stream;
    if (rstCode) throw new ConnectionError(`the response was reset (code ${rstCode})`, false);
  }

  private connectionError(
    stream: ClientHttp2Stream,
    { signal, error }: { readonly signal: AbortSignal; readonly error: Error | undefined },
  ): unknown {
    if (signal.aborted) return signal.reason;
    const refused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    // Node cancels streams that are pending when the session fails; the session's error is the cause.
    const cause = error?.cause instanceof Error ? error.cause : error;
    const message = cause?.message ?? "the connection was closed before the response";
    return new ConnectionError(message, refused || !this.connection.connected);
  }
}
