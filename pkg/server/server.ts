import { constants, randomUUID } from "node:crypto";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  ServerResponse,
} from "node:http";
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server as TlsServer } from "node:tls";
import Koa from "koa";
import { type Clock, createLogger, type Logger, systemClock, trustAuthorities } from "#base";
import type { FlowController } from "#flowcontrol";
import type { Catalog } from "#meta";
import type { Registry } from "#registry";
import { type Auditor, type Authenticator, type Authorizer, noTracer, type Tracer } from "#request";
import { Shutdown } from "./transport/shutdown.ts";
import { Debugging, type DebuggingOptions } from "./ops/debugging.ts";
import type { Upgrade } from "./transport/exchange.ts";
import { Health, type HealthCheck } from "./ops/health.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { Http2Exchange, type Http2Request } from "./transport/http2-exchange.ts";
import {
  type LocalResponse,
  LocalExchange,
  type LocalRequest,
} from "./transport/local-exchange.ts";
import { PrometheusMetrics } from "./metrics/metrics.ts";
import { serverMetrics } from "./metrics/definitions.ts";
import {
  type AggregatedDocuments,
  noAggregatedDocuments,
  type ServerDocument,
} from "./routes/document-routes.ts";
import { Http1Exchange } from "./transport/http1-exchange.ts";
import { rejectPlainHttp } from "./transport/plain-http.ts";
import { EventLoopLagMonitor } from "./ops/event-loop-lag-monitor.ts";
import type { RequestInterceptor } from "./interceptor.ts";
import { installStages } from "./stages/stages.ts";
import { bindExchange, type KoaMessages, koaMessages } from "./transport/koa-messages.ts";
import type { Aggregation } from "./proxy/aggregated.ts";
import { type KubeletTls, Tunnels } from "./proxy/tunnels.ts";

/** Certificates and keys in PEM format. */
export interface TlsOptions {
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
  /** Certificates of clients are asked for and checked against these; one that fails is ignored. */
  readonly clientCa?: string | Uint8Array;
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** Default true; false serves HTTP/1.1 alone. */
  readonly http2?: boolean;
}

/** Start, connection rebalancing (GOAWAY) and shutdown of a server. */
export interface Lifecycle {
  /** Time in ms for which `/livez` passes although the post-start hooks have not finished. */
  readonly livezGraceMs?: number;
  /** Share of HTTP/2 requests that are answered with GOAWAY, so that clients rebalance. */
  readonly goawayChance?: number;
  /** During shutdown the server keeps listening and answers 429 with Retry-After. */
  readonly retryAfterWhenClosing?: boolean;
}

export interface ServerOptions extends Lifecycle {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Absent = requests are not audited. */
  readonly auditor?: Auditor | undefined;
  /** Absent = requests are not traced. */
  readonly tracer?: Tracer;
  /** Additional documents, by path. */
  readonly documents?: ReadonlyMap<string, ServerDocument>;
  /** Absent = no requests are proxied to other API servers. */
  readonly aggregation?: Aggregation;
  /** Discovery and OpenAPI of other servers; absent = none are aggregated. */
  readonly aggregated?: AggregatedDocuments;
  /** How kubelets are spoken to; without an authority their certificates are not checked. */
  readonly kubelet?: KubeletTls;
  /** Absent: plain HTTP/1.1, for use inside one machine. */
  readonly tls?: TlsOptions | undefined;
  readonly clock?: Clock;
  readonly limits?: Partial<Limits>;
  /** API Priority and Fairness; absent = `limits` bound the requests in flight. */
  readonly flowControl?: FlowController | undefined;
  /** Observes and fails requests, for tests of clients. */
  readonly interceptor?: RequestInterceptor | undefined;
  readonly health?: readonly HealthCheck[];
  readonly metrics?: PrometheusMetrics;
  /** A number in [0, 1). */
  readonly random?: () => number;
  /** Absent = the inside of the server is not shown. */
  readonly debugging?: DebuggingOptions;
  /** Absent = what went wrong is written to standard error. */
  readonly logger?: Logger;
}

export interface CloseOptions {
  readonly graceMs?: number;
  readonly delayMs?: number;
  readonly spreadMs?: number;
}

export interface KeelsonServer {
  /** Port 0 takes a free one. */
  listen(where: { readonly host: string; readonly port: number }): Promise<void>;
  /**
   * Says that it is not ready and goes on for `delayMs` milliseconds; then takes no more requests,
   * ends watches in order, evenly over `spreadMs`, lets the other requests finish and cuts off what
   * is left after `graceMs`.
   */
  close(options?: CloseOptions): Promise<void>;
  /** Certificates for connections to come; throws Error for what cannot be used. */
  renewTls(tls: TlsOptions): void;
  /** Undefined unless it listens. */
  readonly port: number | undefined;
  /** Host and port on which the server listens. */
  readonly address: { readonly host: string; readonly port: number };
  /** Handles an in-process request, which passes through all stages of the server. */
  handle(request: LocalRequest): Promise<LocalResponse>;
}

const COMMON_HEADERS = { "cache-control": "no-cache, private" };
const DEFAULT_GRACE = 5_000;
const LONGEST_ID = 64;
/** Verbosity at which failures of connections are logged. */
const connectionLevel = 4;

export function createServer(options: ServerOptions): KeelsonServer {
  return new HttpServer(options);
}

class HttpServer implements KeelsonServer {
  private readonly limits: Limits;
  private readonly metrics: PrometheusMetrics;
  private readonly logger: Logger;
  private readonly closing = new Shutdown();
  private readonly callback: ReturnType<Koa["callback"]>;
  private readonly server: Server;
  /** HTTP/2 connections, each with the timer that ends it when it has been idle. */
  private readonly sessions = new Map<ServerHttp2Session, NodeJS.Timeout>();
  private readonly sockets = new Set<Socket>();
  /** Requests at work per HTTP/1.1 socket or HTTP/2 connection. */
  private readonly atWork = new Map<object, number>();
  private readonly lagMonitor = new EventLoopLagMonitor((seconds) => this.metrics.stall(seconds));
  private idle: (() => void) | undefined;

  constructor(private readonly options: ServerOptions) {
    this.limits = { ...defaultLimits, ...options.limits };
    this.metrics = options.metrics ?? new PrometheusMetrics();
    this.logger = options.logger ?? createLogger({ write: (line) => console.error(line) });
    this.callback = this.makeApp().callback();
    this.server = this.makeServer();
  }

  get address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.server.address() as AddressInfo;
    return { host: address, port };
  }

  get port(): number | undefined {
    return (this.server.address() as AddressInfo | null)?.port;
  }

  listen({ host, port }: { host: string; port: number }): Promise<void> {
    this.lagMonitor.start();
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, host, () => {
        this.server.off("error", reject);
        resolve();
      });
    });
  }

  renewTls(tls: TlsOptions): void {
    (this.server as TlsServer).setSecureContext(secureContext(tls));
  }

  async handle(request: LocalRequest): Promise<LocalResponse> {
    const auditId = randomUUID();
    const common = { "audit-id": auditId, ...COMMON_HEADERS };
    const exchange = new LocalExchange(request, { auditId, common });
    void this.run(koaMessages(exchange, request.headers ?? {}));
    return exchange.result;
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const { graceMs = DEFAULT_GRACE, delayMs = 0, spreadMs = 0 } = options;
    this.closing.announce();
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const timer = setTimeout(() => this.cutOff(), graceMs);
    const isPolite = this.options.retryAfterWhenClosing === true;
    const stopped = isPolite ? undefined : this.stopListening();
    this.closing.begin(Math.min(spreadMs, graceMs));
    this.closeConnections();
    await this.allIdle();
    await (stopped ?? this.stopListening());
    this.lagMonitor.stop();
    clearTimeout(timer);
  }

  private stopListening(): Promise<void> {
    return new Promise((resolve) => {
      if (this.server.listening) this.server.close(() => resolve());
      else resolve();
      this.closeConnections();
    });
  }

  private closeConnections(): void {
    for (const session of this.sessions.keys()) session.close();
    for (const socket of this.sockets) this.closeIfIdle(socket);
  }

  private healthOf({ health: checks = [], livezGraceMs = 0, clock }: ServerOptions): Health {
    const { closing, metrics } = this;
    const { instruments } = metrics;
    return new Health({ checks, closing, instruments, clock: clock ?? systemClock, livezGraceMs });
  }

  private cutOff(): void {
    this.closing.finish();
    for (const session of this.sessions.keys()) session.destroy();
    for (const socket of this.sockets) socket.destroy();
    this.atWork.clear();
    this.idle?.();
  }

  private allIdle(): Promise<void> {
    if (this.atWork.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  /** Runs a request through Koa; never rejects. */
  private run({ request, response }: KoaMessages): Promise<void> {
    return this.callback(request, response);
  }

  private makeApp(): Koa {
    const { options, closing, limits, metrics, logger } = this;
    const { catalog, registry, authenticator, authorizer, auditor, interceptor, flowControl } =
      options;
    const app = new Koa();
    // The stages handle all errors; Koa reports those of connections, which end their exchange.
    app.on("error", (error: unknown) => {
      logger.info(connectionLevel, "Connection failed", { err: String(error) });
    });
    installStages(app, {
      catalog,
      registry,
      authenticator,
      authorizer,
      auditor,
      tracer: options.tracer ?? noTracer,
      clock: options.clock ?? systemClock,
      limits,
      flowControl,
      interceptor,
      metrics,
      health: this.healthOf(options),
      logger,
      closing,
      retryAfterWhenClosing: options.retryAfterWhenClosing ?? false,
      documents: options.documents ?? new Map(),
      aggregation: options.aggregation,
      aggregated: options.aggregated ?? noAggregatedDocuments,
      tunnels: new Tunnels(options.kubelet ?? {}),
      debugging: options.debugging && new Debugging(options.debugging),
    });
    return app;
  }

  private makeServer(): Server {
    const handler = (request: IncomingMessage, response: ServerResponse) =>
      void this.arrive(request, response);
    const server = this.options.tls === undefined ? this.plain(handler) : this.secure(handler);
    const opened = this.options.tls === undefined ? "connection" : "secureConnection";
    server.on(opened, (socket: Socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
      // Node's HTTP/2 server leaves idle HTTP/1.1 connections open for ever.
      if (!speaksHttp2(socket)) socket.setTimeout(this.limits.idleTimeout);
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.arriveUpgrading({ request, socket, head }),
    );
    server.on("timeout", (socket: Socket) => {
      if (!this.atWork.has(socket)) socket.destroy();
    });
    return server;
  }

  private plain(handler: RequestListener): Server {
    const { headerBytes, headersTimeout, idleTimeout } = this.limits;
    const options = { maxHeaderSize: headerBytes, headersTimeout, keepAliveTimeout: idleTimeout };
    return createHttpServer({ ...options, requestTimeout: 0 }, handler);
  }

  private secure(handler: RequestListener): Server {
    const { limits } = this;
    const tls = this.options.tls!;
    const http1 = { maxHeaderSize: limits.headerBytes, headersTimeout: limits.headersTimeout };
    const server = createSecureServer(
      {
        ...http1,
        ...secureContext(tls),
        ...(tls.clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: false }),
        allowHTTP1: true,
        ...(tls.http2 === false ? { ALPNCallback: selectHttp1 } : {}),
        handshakeTimeout: limits.handshakeTimeout,
        settings: {
          maxConcurrentStreams: limits.streamsPerConnection,
          maxHeaderListSize: limits.headerBytes,
        },
      },
      // Called for HTTP/1.1 alone: Node's objects for HTTP/2 requests cost more CPU than all stages,
      // so that those are taken as streams.
      handler as (request: object, response: object) => void,
    );
    // Node's HTTP/2 server hands HTTP/1.1 connections its own fields, but sets this one only for
    // plain HTTP servers; without it their headers end at Node's default of 16 KiB.
    Object.assign(server, { maxHeaderSize: limits.headerBytes });
    server.removeAllListeners("stream");
    server.on(
      "stream",
      (
        stream: ServerHttp2Stream,
        headers: IncomingHttpHeaders,
        _flags: number,
        rawHeaders: readonly string[],
      ) => this.arriveOnStream({ stream, headers, rawHeaders }),
    );
    server.on("session", (session) => this.watchSession(session));
    server.on("sessionError", () => undefined);
    rejectPlainHttp(server);
    server.on("tlsClientError", (_error, socket) => {
      this.metrics.instruments.add(serverMetrics.handshakeErrors.name, {}, 1);
      socket.destroy();
    });
    return server;
  }

  private watchSession(session: ServerHttp2Session): void {
    // Watches may be silent for long: only a connection without requests is idle. Node's own
    // session timeout would be rearmed by each frame, several times per request.
    const closeIfIdle = () => {
      if (!this.atWork.has(session)) session.close();
    };
    const idleTimer = setTimeout(closeIfIdle, this.limits.idleTimeout).unref();
    this.sessions.set(session, idleTimer);
    session.once("close", () => {
      clearTimeout(idleTimer);
      this.sessions.delete(session);
    });
    session.on("error", () => undefined);
    const isPolite = this.options.retryAfterWhenClosing === true;
    if (this.closing.closing && !isPolite) session.close();
  }

  /** The request may end in another protocol; if not, the connection is closed after the response. */
  private arriveUpgrading(upgrade: Upgrade): void {
    const { request, socket } = upgrade;
    socket.on("error", () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once("finish", () => socket.end());
    void this.arrive(request, response, upgrade);
  }

  private async arrive(
    request: IncomingMessage,
    response: ServerResponse,
    upgrade?: Upgrade,
  ): Promise<void> {
    const auditId = requestId(request.headers["audit-id"]);
    const last: Record<string, string> = this.closing.closing ? { connection: "close" } : {};
    const exchange = new Http1Exchange(request, response, {
      auditId,
      bodyTimeout: this.limits.bodyTimeout,
      common: { "audit-id": auditId, ...COMMON_HEADERS, ...last },
      upgrade,
    });
    bindExchange(request, exchange);
    this.count(request.socket, 1);
    const finished = new Promise<void>((resolve) => response.once("close", resolve));
    await this.run({ request, response });
    exchange.finish();
    await finished;
    this.count(request.socket, -1);
  }

  private arriveOnStream(request: Http2Request): void {
    const { stream, headers } = request;
    if (headers[":method"] === "CONNECT") return stream.respond({ ":status": 405 }, lastFrame);
    if (headers.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
    const auditId = requestId(headers["audit-id"]);
    const connection = stream.session ?? stream;
    let isOver = false;
    // Called when the request has been served, and when its stream is closed.
    const end = () => {
      if (isOver) this.count(connection, -1);
      isOver = true;
    };
    const exchange = new Http2Exchange(request, {
      auditId,
      bodyTimeout: this.limits.bodyTimeout,
      common: { "audit-id": auditId, ...COMMON_HEADERS },
      onClose: end,
    });
    this.count(connection, 1);
    if (this.mayMove()) stream.session?.close();
    void this.run(koaMessages(exchange, headers)).then(() => {
      exchange.finish();
      end();
    });
  }

  /** Requests that are under way on the connection finish on it. */
  private mayMove(): boolean {
    const { goawayChance = 0, random = Math.random } = this.options;
    return goawayChance > 0 && random() < goawayChance;
  }

  private count(connection: object, by: 1 | -1): void {
    const now = (this.atWork.get(connection) ?? 0) + by;
    if (now > 0) {
      this.atWork.set(connection, now);
      return;
    }
    this.atWork.delete(connection);
    const session = connection as ServerHttp2Session;
    const idleTimer = this.sessions.get(session);
    idleTimer?.refresh();
    if (!this.closing.closing) return;
    if (idleTimer !== undefined) session.close();
    if (this.sockets.has(connection as Socket)) this.closeIfIdle(connection as Socket);
    if (this.atWork.size === 0) this.idle?.();
  }

  /**
   * HTTP/2 connections end by themselves after GOAWAY; those of HTTP/1.1 wait for another
   * request.
   */
  private closeIfIdle(socket: Socket): void {
    if (!speaksHttp2(socket) && !this.atWork.has(socket)) socket.end();
  }
}

/** Undefined ends the handshake of clients that offer HTTP/2 alone. */
function selectHttp1({ protocols }: { readonly protocols: string[] }): string | undefined {
  return protocols.find((protocol) => protocol === "http/1.1");
}

function speaksHttp2(socket: Socket): boolean {
  return (socket as { alpnProtocol?: string | false }).alpnProtocol === "h2";
}

const lastFrame = { endStream: true };

/** The id that the client gave the request, if it can be shown in a log. */
function requestId(sent: string | string[] | undefined): string {
  return typeof sent === "string" && isPlainId(sent) ? sent : randomUUID();
}

function isPlainId(text: string): boolean {
  return text.length <= LONGEST_ID && /^[\w.-]+$/.test(text);
}

/**
 * Sessions are not resumed: a resumed one forgets which certificates the client sent along, and was
 * verified by authorities that may be gone.
 */
function secureContext({ cert, key, clientCa, minVersion = "TLSv1.2" }: TlsOptions) {
  const ca = clientCa === undefined ? {} : { ca: trustAuthorities(pem(clientCa)) };
  return {
    cert: pem(cert),
    key: pem(key),
    ...ca,
    minVersion,
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

function pem(text: string | Uint8Array): string {
  return typeof text === "string" ? text : Buffer.from(text).toString("utf8");
}
