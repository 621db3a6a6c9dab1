import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Clock } from "#base";
import type { Endpoint } from "#request";
import { DeadlineExceeded } from "../deadline.ts";
import {
  ConnectionError,
  type HttpResponse,
  type HttpRequest,
  type RoundTrip,
} from "./transport.ts";

export interface ConnectionOptions {
  /**
   * Asked for every new connection, so that renewed certificates are taken up; tokens are asked for
   * with every request.
   */
  readonly endpoint: () => Endpoint;
  readonly clock: Clock;
  /** Closes all connections when it aborts. */
  readonly signal: AbortSignal;
}

/** A connection that says nothing is asked whether it lives, and has so long to answer. */
const pingIntervalMs = 30_000;
const pingAnswerMs = 15_000;
/** A connection that is not there after so long is given up. */
const connectMs = 10_000;
/** More requests than that go on another connection. */
const streamsPerConnection = 200;

/** Sends requests over as few HTTP/2 connections as will do. */
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
  readonly session: ClientHttp2Session;
  private readonly life = new AbortController();
  private streams = 0;
  private leaving = false;
  private connected = false;
  /** A request was not answered in time: others go elsewhere until it is known to live. */
  private doubted = false;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly clock: Clock,
  ) {
    this.session = connect(endpoint.url.origin, { ...endpoint.tls });
    this.session.once("connect", () => (this.connected = true));
    this.session.once("goaway", () => (this.leaving = true));
    this.session.once("close", () => this.life.abort());
    // Requests tell of it.
    this.session.on("error", () => undefined);
    void this.keepAlive();
  }

  get hasRoom(): boolean {
    const { session, leaving, streams, doubted } = this;
    const most = session.remoteSettings?.maxConcurrentStreams ?? streamsPerConnection;
    const usable = !session.closed && !session.destroyed && !leaving && !doubted;
    return usable && streams < Math.min(most, streamsPerConnection);
  }

  private async keepAlive(): Promise<void> {
    const { session } = this;
    await this.pause(connectMs);
    if (!this.connected) session.destroy(new Error("the server does not answer"));
    while (!session.destroyed) {
      await this.pause(pingIntervalMs);
      if (session.destroyed || session.closed) return;
      await this.probe();
    }
  }

  /** Sends a PING, and closes the connection if the peer does not acknowledge it in time. */
  private async probe(): Promise<void> {
    const { session } = this;
    let isSilent = true;
    session.ping((error) => {
      if (error !== null) return;
      isSilent = false;
      this.doubted = false;
    });
    await this.pause(pingAnswerMs);
    if (isSilent && !session.destroyed) session.destroy(new Error("the server is silent"));
  }

  private pause(ms: number): Promise<void> {
    const { signal } = this.life;
    return this.clock.sleep(ms, signal, { background: true }).catch(() => undefined);
  }

  private doubt(): void {
    if (this.doubted || this.session.destroyed) return;
    this.doubted = true;
    void this.probe();
  }

  send(request: HttpRequest): Promise<HttpResponse> {
    const { method, path, headers, body, signal } = request;
    const authorization = this.endpoint.authorization();
    const prefix = this.endpoint.url.pathname.replace(/\/$/, "");
    const stream = this.session.request(
      {
        ...headers,
        ...(authorization === undefined ? {} : { authorization }),
        ":method": method,
        ":path": `${prefix}${path}`,
      },
      { endStream: body === undefined },
    );
    this.streams += 1;
    const leave = () => {
      stream.close(constants.NGHTTP2_CANCEL);
      if (signal.reason instanceof DeadlineExceeded) this.doubt();
    };
    signal.addEventListener("abort", leave, { once: true });
    stream.once("close", () => {
      this.streams -= 1;
      signal.removeEventListener("abort", leave);
    });
    if (body !== undefined) stream.end(body);
    return this.answerOf(stream, signal);
  }

  private answerOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const fail = (error?: Error) => reject(this.faultOf(stream, { signal, error }));
      // Errors after the response headers reach the reader of the body.
      stream.on("error", fail);
      stream.once("close", () => fail());
      stream.once("response", (headers: IncomingHttpHeaders) => {
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
      throw this.faultOf(stream, { signal, error: error as Error });
    }
    if (signal.aborted) throw signal.reason;
    const { rstCode } = stream;
    if (rstCode) throw new ConnectionError(`the answer was cut off (code ${rstCode})`, false);
  }

  private faultOf(
    stream: ClientHttp2Stream,
    { signal, error }: { readonly signal: AbortSignal; readonly error: Error | undefined },
  ): unknown {
    if (signal.aborted) return signal.reason;
    const refused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    // Requests that wait for the connection fail as cancelled, with the real error as the cause.
    const cause = error?.cause instanceof Error ? error.cause : error;
    const message = cause?.message ?? "the connection was closed before the answer";
    return new ConnectionError(message, refused || !this.connected);
  }
}
