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
import {
  bufferWhileParserPaused,
  type Clock,
  createLogger,
  type Logger,
  randomUuid,
  systemClock,
} from "#base";
import type { FlowController } from "#flowcontrol";
import type { Catalog } from "#meta";
import type { Registry } from "#registry";
import {
  type Auditor,
  type Authenticator,
  type Authorizer,
  closedDialer,
  type Dialer,
  noTracer,
  type Tracer,
} from "#request";
import { ConnectionTracker } from "./transport/connection-tracker.ts";
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
import { secureContext, selectHttp1, type TlsOptions } from "./transport/tls.ts";
import { bindExchange, type KoaMessages, koaMessages } from "./transport/koa-messages.ts";
import type { Aggregation } from "./proxy/aggregated.ts";
import { type KubeletTls, Tunnels } from "./proxy/tunnels.ts";

/** Start, connection rebalancing (GOAWAY) and shutdown of a server. */
export interface Lifecycle {
  /** Time in ms for which `/livez` passes although the post-start hooks have not finished. */
  readonly livezGraceMs?: number;
  /** Probability in [0, 1) that a request closes its HTTP/2 connection with GOAWAY. */
  readonly goawayChance?: number;
  /** During shutdown the server keeps listening and rejects requests with 429 and Retry-After. */
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
  /** Discovery and OpenAPI of aggregated API servers; absent = none. */
  readonly aggregated?: AggregatedDocuments;
  /** Connects to kubelets, pods and services; absent = to none. */
  readonly dialer?: Dialer;
  /** TLS options of connections to kubelets; without a CA their certificates are not verified. */
  readonly kubelet?: KubeletTls;
  /** Absent = plain HTTP/1.1, for connections from the same machine. */
  readonly tls?: TlsOptions | undefined;
  readonly clock?: Clock;
  readonly limits?: Partial<Limits>;
  /** API Priority and Fairness; absent = `limits` bound the requests in flight. */
  readonly flowControl?: FlowController | undefined;
  /** Observes and fails requests; for tests of clients. */
  readonly interceptor?: RequestInterceptor | undefined;
  readonly health?: readonly HealthCheck[];
  readonly metrics?: PrometheusMetrics;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
  /** Absent = the `/debug` endpoints are not served. */
  readonly debugging?: DebuggingOptions;
  /** Absent = a logger to standard error. */
  readonly logger?: Logger;
}

/** Durations of a shutdown in milliseconds. */
export interface CloseOptions {
  /** Time after which the remaining connections are destroyed; default 5000. */
  readonly graceMs?: number;
  /** Time for which the server is not ready but still serves requests; default 0. */
  readonly delayMs?: number;
  /** Time over which the end of watches is spread; default 0. */
  readonly spreadMs?: number;
}

export interface KeelsonServer {
  /** Listens on a free port if the port is 0. */
  listen(address: { readonly host: string; readonly port: number }): Promise<void>;
  /**
   * Shuts down: `/readyz` fails and requests are served for `delayMs`; then the server stops
   * listening, ends watches evenly over `spreadMs`, waits for the other requests, and destroys the
   * connections that remain after `graceMs`.
   */
  close(options?: CloseOptions): Promise<void>;
  /** Sets the certificates of new connections; throws Error if they are invalid. */
  renewTls(tls: TlsOptions): void;
  /** Undefined unless the server listens. */
  readonly port: number | undefined;
  /** Host and port on which the server listens. */
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Handles an in-process request, which passes through all stages of the server. Rejects as `fetch` does
   * once the server has closed.
   */
  handle(request: LocalRequest): Promise<LocalResponse>;
}

const commonHeaders = { "cache-control": "no-cache, private" };
const defaultGraceMs = 5_000;
const maxAuditIdLength = 64;
/** Verbosity at which failures of connections are logged. */
const connectionLevel = 4;

export function createServer(options: ServerOptions): KeelsonServer {
  return new HttpServer(options);
}

/**
 * Accepts header values that begin or end with spaces over HTTP/2, as Go's server does. Node knows the
 * option from 24.2 on; before, it drops such headers.
 */
const spacesInHeaders = { strictFieldWhitespaceValidation: false };

class HttpServer implements KeelsonServer {
  private readonly limits: Limits;
  private readonly metrics: PrometheusMetrics;
  private readonly logger: Logger;
  private readonly closing = new Shutdown();
  /** The server has shut down, and refuses requests inside the process as well. */
  private isClosed = false;
  private readonly callback: ReturnType<Koa["callback"]>;
  private readonly server: Server;
  private readonly connections: ConnectionTracker;
  private readonly lagMonitor = new EventLoopLagMonitor((seconds) => this.metrics.stall(seconds));

  constructor(private readonly options: ServerOptions) {
    this.limits = { ...defaultLimits, ...options.limits };
    this.metrics = options.metrics ?? new PrometheusMetrics();
    this.connections = new ConnectionTracker({
      idleTimeout: this.limits.idleTimeout,
      isClosing: () => this.closing.closing,
    });
    this.logger = options.logger ?? createLogger({ write: (line) => console.error(line) });
    this.callback = this.createApp().callback();
    this.server = this.createNodeServer();
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
    if (this.isClosed) throw new TypeError("fetch failed", { cause: new Error("server closed") });
    const auditId = randomUuid();
    const common = { "audit-id": auditId, ...commonHeaders };
    const exchange = new LocalExchange(request, { auditId, common });
    void this.run(koaMessages(exchange, request.headers ?? {}));
    return exchange.result;
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const { graceMs = defaultGraceMs, delayMs = 0, spreadMs = 0 } = options;
    this.closing.announce();
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const timer = setTimeout(() => this.destroyConnections(), graceMs);
    const stopped = this.keepsListening() ? undefined : this.stopListening();
    this.closing.begin(Math.min(spreadMs, graceMs));
    this.connections.close();
    await this.connections.untilIdle();
    await (stopped ?? this.stopListening());
    this.lagMonitor.stop();
    clearTimeout(timer);
    this.isClosed = true;
  }

  /** Whether the server listens until the last request of a shutdown has finished. */
  private keepsListening(): boolean {
    return this.options.retryAfterWhenClosing === true;
  }

  private stopListening(): Promise<void> {
    return new Promise((resolve) => {
      if (this.server.listening) this.server.close(() => resolve());
      else resolve();
      this.connections.close();
    });
  }

  private healthOf({ health: checks = [], livezGraceMs = 0, clock }: ServerOptions): Health {
    const { closing, metrics } = this;
    const { instruments } = metrics;
    return new Health({ checks, closing, instruments, clock: clock ?? systemClock, livezGraceMs });
  }

  private destroyConnections(): void {
    this.closing.finish();
    this.connections.destroy();
  }

  /** Runs a request through Koa; never rejects. */
  private run({ request, response }: KoaMessages): Promise<void> {
    return this.callback(request, response);
  }

  private createApp(): Koa {
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
      tunnels: new Tunnels(options.kubelet ?? {}, options.dialer ?? closedDialer),
      debugging: options.debugging && new Debugging(options.debugging),
    });
    return app;
  }

  private createNodeServer(): Server {
    const handler = (request: IncomingMessage, response: ServerResponse) => {
      this.connections.beginRequest(request.socket);
      void this.handleHttp1(request, response);
    };
    const server =
      this.options.tls === undefined
        ? this.createPlainServer(handler)
        : this.createTlsServer(handler);
    const connectionEvent = this.options.tls === undefined ? "connection" : "secureConnection";
    server.on(connectionEvent, (socket: Socket) => this.connections.trackSocket(socket));
    server.on(
      "upgrade",
      (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        void this.handleUpgrade({ request, socket, head }),
    );
    server.on("timeout", (socket: Socket) => this.connections.destroyIfIdle(socket));
    return server;
  }

  private createPlainServer(handler: RequestListener): Server {
    const { headerBytes, headersTimeout, idleTimeout } = this.limits;
    const options = { maxHeaderSize: headerBytes, headersTimeout, keepAliveTimeout: idleTimeout };
    return createHttpServer({ ...options, requestTimeout: 0 }, handler);
  }

  private createTlsServer(handler: RequestListener): Server {
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
        ...spacesInHeaders,
        settings: {
          maxConcurrentStreams: limits.streamsPerConnection,
          maxHeaderListSize: limits.headerBytes,
        },
      },
      // Handles HTTP/1.1 only. HTTP/2 requests are handled as streams, because Node's compatibility
      // objects for them cost more CPU time than all stages.
      handler as (request: object, response: object) => void,
    );
    // Node's HTTP/2 server ignores the option maxHeaderSize, but its HTTP/1.1 connections read this
    // property; without it their headers are limited to Node's default of 16 KiB.
    Object.assign(server, { maxHeaderSize: limits.headerBytes });
    server.removeAllListeners("stream");
    server.on(
      "stream",
      (
        stream: ServerHttp2Stream,
        headers: IncomingHttpHeaders,
        _flags: number,
        rawHeaders: readonly string[],
      ) => this.handleStream({ stream, headers, rawHeaders }),
    );
    server.on("session", (session) => this.trackSession(session));
    server.on("sessionError", () => undefined);
    rejectPlainHttp(server);
    bufferWhileParserPaused(server);
    server.on("tlsClientError", (_error, socket) => {
      this.metrics.instruments.add(serverMetrics.handshakeErrors.name, {}, 1);
      socket.destroy();
    });
    return server;
  }

  private trackSession(session: ServerHttp2Session): void {
    this.connections.trackSession(session);
    if (this.closing.closing && !this.keepsListening()) session.close();
  }

  /** Handles an HTTP/1.1 request to upgrade; unless it is upgraded, its connection is closed. */
  private async handleUpgrade(upgrade: Upgrade): Promise<void> {
    const { request, socket } = upgrade;
    socket.on("error", () => socket.destroy());
    this.connections.beginRequest(request.socket);
    await this.connections.untilOnlyRequest(request.socket);
    if (socket.destroyed) return this.connections.endRequest(request.socket);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once("finish", () => socket.end());
    await this.handleHttp1(request, response, upgrade);
  }

  private async handleHttp1(
    request: IncomingMessage,
    response: ServerResponse,
    upgrade?: Upgrade,
  ): Promise<void> {
    const auditId = auditIdOf(request.headers["audit-id"]);
    const last: Record<string, string> = this.closing.closing ? { connection: "close" } : {};
    const exchange = new Http1Exchange(request, response, {
      auditId,
      bodyTimeout: this.limits.bodyTimeout,
      common: { "audit-id": auditId, ...commonHeaders, ...last },
      upgrade,
    });
    bindExchange(request, exchange);
    await this.run({ request, response });
    exchange.finish();
    await exchange.closed;
    this.connections.endRequest(request.socket);
  }

  private handleStream(request: Http2Request): void {
    const { stream, headers } = request;
    if (headers[":method"] === "CONNECT") return stream.respond({ ":status": 405 }, endOfStream);
    if (headers.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
    const auditId = auditIdOf(headers["audit-id"]);
    const connection = stream.session ?? stream;
    let isHalfFinished = false;
    // Called twice: when the request has been served, and when its stream has closed.
    const end = () => {
      if (isHalfFinished) this.connections.endRequest(connection);
      isHalfFinished = true;
    };
    const exchange = new Http2Exchange(request, {
      auditId,
      bodyTimeout: this.limits.bodyTimeout,
      common: { "audit-id": auditId, ...commonHeaders },
      onClose: end,
    });
    this.connections.beginRequest(connection);
    if (this.shouldSendGoaway()) stream.session?.close();
    void this.run(koaMessages(exchange, headers)).then(() => {
      exchange.finish();
      end();
    });
  }

  /** Whether to close the HTTP/2 connection with GOAWAY; its active requests still finish. */
  private shouldSendGoaway(): boolean {
    const { goawayChance = 0, random = Math.random } = this.options;
    return goawayChance > 0 && random() < goawayChance;
  }
}

const endOfStream = { endStream: true };

/** The Audit-ID header of a client if it is safe to log, else a new id. */
function auditIdOf(header: string | string[] | undefined): string {
  return typeof header === "string" && isValidAuditId(header) ? header : randomUuid();
}

function isValidAuditId(text: string): boolean {
  return text.length <= maxAuditIdLength && /^[\w.-]+$/.test(text);
}
