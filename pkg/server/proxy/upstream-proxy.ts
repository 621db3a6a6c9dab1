import { createHash, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, request as httpRequest, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { withoutBearerProtocol } from "#authn";
import {
  bufferWhileParserPaused,
  type Clock,
  connectionOptions,
  hopByHopHeaders,
  printJson,
} from "#base";
import { badRequest, type Domain, serviceUnavailable, StatusError, unauthorized } from "#meta";
import { TlsAgent } from "#pki";
import { type Endpoint, parseRequestInfo, parseTarget, type RequestInfo } from "#request";
import { defaultLimits } from "../limits.ts";
import { collectHeaders } from "./headers.ts";
import { ConnectionTracker } from "../transport/connection-tracker.ts";
import { closeOf } from "../transport/http1-exchange.ts";
import { joinSockets } from "./join-sockets.ts";
import { DialFault, openTunnel, type TunnelResponse } from "./tunnels.ts";

export interface UpstreamProxyOptions {
  /** The API server behind the proxy, and the credentials for it. */
  readonly endpoint: Endpoint;
  readonly domain: Domain;
  /** Port on 127.0.0.1; 0 = any free port. */
  readonly port: number;
  /** Certificate and key of the proxy, PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** Bearer token that clients of the proxy must send. */
  readonly token: string;
  readonly clock: Clock;
  /** Called once for each authenticated request, when its response has ended. */
  readonly ended: (request: ProxiedRequest) => void;
}

/** A request that the proxy has forwarded. */
export interface ProxiedRequest {
  readonly info: RequestInfo;
  readonly method: string;
  readonly userAgent: string;
  /** Status code of the response; 101 for an upgraded connection; undefined = no response. */
  readonly status: number | undefined;
  /** Arrival in ms since 1970. */
  readonly startedAt: number;
  /** Time in ms until the response had ended, or the upgraded connection was closed. */
  readonly durationMs: number;
}

/** Maximum number of connections of clients, and of connections to the upstream. */
const maxConnections = 1_000;
/** Time in ms after which an idle connection to the upstream is closed. */
const idleMs = 30_000;
/** Maximum time in ms to receive a request with its body. */
const requestMs = 300_000;

/** Credentials of the client, and headers that name the user to servers behind a front proxy. */
const credentialHeaders: ReadonlySet<string> = new Set(["authorization", "host", "expect"]);
const userPrefix = "x-remote-";

/**
 * A proxy of an API server on 127.0.0.1 over HTTPS (HTTP/1.1): forwards requests, watches and upgrades
 * with the credentials of the upstream instead of the client's. Bodies are streamed.
 */
export class UpstreamProxy {
  private readonly server: Server;
  private readonly agent: TlsAgent;
  private readonly sockets = new Set<Duplex>();
  private readonly connections = new ConnectionTracker({
    idleTimeout: idleMs,
    isClosing: () => false,
  });
  private readonly activeRequests = new Set<Promise<void>>();
  private readonly tokenHash: Buffer;

  private constructor(private readonly options: UpstreamProxyOptions) {
    const { endpoint, tls, token } = options;
    this.tokenHash = hashOf(`Bearer ${token}`);
    this.agent = new TlsAgent({
      ...endpoint.tls,
      keepAlive: true,
      maxSockets: maxConnections,
      timeout: idleMs,
    });
    const { headerBytes, headersTimeout, idleTimeout, handshakeTimeout } = defaultLimits;
    const times = { headersTimeout, requestTimeout: requestMs, keepAliveTimeout: idleTimeout };
    const sizes = { maxHeaderSize: headerBytes };
    this.server = createServer({ ...tls, ...times, ...sizes, handshakeTimeout });
    this.server.maxConnections = maxConnections;
    bufferWhileParserPaused(this.server);
    this.server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
    this.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      this.connections.beginRequest(socket);
      void closeOf(response, socket).then(() => this.connections.endRequest(socket));
      this.track(this.serve(request, response));
    });
    this.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.track(this.serveUpgrade(request, socket, head)),
    );
  }

  static async listen(options: UpstreamProxyOptions): Promise<UpstreamProxy> {
    const proxy = new UpstreamProxy(options);
    await new Promise<void>((resolve, reject) => {
      proxy.server.once("error", reject);
      proxy.server.listen(options.port, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Closes all connections; resolves when every request has ended. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await Promise.all([closed, ...this.activeRequests]);
    this.agent.destroy();
  }

  private track(work: Promise<void>): void {
    this.activeRequests.add(work);
    void work.finally(() => this.activeRequests.delete(work));
  }

  /** Forwards a request; never rejects. */
  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const disconnected = new AbortController();
    response.once("close", () => disconnected.abort(new Error("the client disconnected")));
    await this.runAndReport(request, response, async () => {
      const result = await this.send(request, {
        signal: disconnected.signal,
        isUpgrade: false,
      });
      if (result.kind === "response") return forwardResponse(result.message, response);
      result.socket.destroy();
      throw serviceUnavailable("the upstream switched protocols without being asked to upgrade");
    });
  }

  /** Forwards a request to upgrade, and joins the connections if the upstream switches protocols. */
  private async serveUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const disconnected = new AbortController();
    socket.on("error", () => socket.destroy());
    this.connections.beginRequest(request.socket);
    await this.connections.untilOnlyRequest(request.socket);
    this.connections.endRequest(request.socket);
    if (socket.destroyed) return;
    socket.once("close", () => disconnected.abort(new Error("the client disconnected")));
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once("finish", () => socket.end());
    await this.runAndReport(request, response, async () => {
      const result = await this.send(request, {
        signal: disconnected.signal,
        isUpgrade: true,
      });
      if (result.kind === "response") return forwardResponse(result.message, response);
      response.statusCode = 101;
      response.detachSocket(socket as Socket);
      await joinSockets({ socket, head }, result);
    });
  }

  /** Runs an authenticated request and reports it; responds to failures with a Status. */
  private async runAndReport(
    request: IncomingMessage,
    response: ServerResponse,
    run: () => Promise<void>,
  ): Promise<void> {
    const { clock, ended } = this.options;
    const [startedAt, started] = [clock.now(), clock.monotonic()];
    const target = parseTarget(request.url ?? "");
    const authenticated = this.isAuthenticated(request);
    try {
      if (!authenticated) throw unauthorized();
      if (target === undefined || !request.url!.startsWith("/")) throw badRequest("invalid path");
      await run();
    } catch (error) {
      sendFailure(response, error);
    }
    if (!authenticated || target === undefined) return;
    const { statusCode, headersSent } = response;
    ended({
      info: parseRequestInfo(request.method ?? "", target),
      method: request.method ?? "",
      userAgent: request.headers["user-agent"] ?? "",
      status: headersSent || statusCode === 101 ? statusCode : undefined,
      startedAt,
      durationMs: clock.monotonic() - started,
    });
  }

  private isAuthenticated({ headers }: IncomingMessage): boolean {
    return timingSafeEqual(hashOf(headers.authorization ?? ""), this.tokenHash);
  }

  private send(
    request: IncomingMessage,
    { signal, isUpgrade }: { readonly signal: AbortSignal; readonly isUpgrade: boolean },
  ): Promise<TunnelResponse> {
    const { url } = this.options.endpoint;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = url.port || "443";
    const path = `${url.pathname.replace(/\/$/, "")}${request.url}`;
    const { method, agent } = { method: request.method ?? "GET", agent: this.agent };
    const headers = this.forwardedHeaders(request, isUpgrade);
    const start = () =>
      httpRequest({ protocol: "https:", host, port, path, method, headers, agent });
    const body = !isUpgrade && hasBody(request) ? request : undefined;
    return openTunnel(start, { host, port }, { body, signal, isTls: true });
  }

  private forwardedHeaders(request: IncomingMessage, isUpgrade: boolean) {
    const { endpoint, domain } = this.options;
    const { connection, upgrade = "" } = request.headers;
    const named = connectionOptions(connection);
    const isDropped = (name: string) =>
      hopByHopHeaders.has(name) ||
      credentialHeaders.has(name) ||
      named.has(name) ||
      name.startsWith(userPrefix);
    const headers = collectHeaders(request.rawHeaders, isDropped);
    const protocols = headers["sec-websocket-protocol"];
    if (protocols !== undefined) {
      const offered = [protocols].flat().join(",");
      headers["sec-websocket-protocol"] = withoutBearerProtocol(offered, domain);
    }
    const authorization = endpoint.authorization();
    if (authorization !== undefined) headers["authorization"] = authorization;
    headers["host"] = endpoint.url.host;
    return isUpgrade ? { ...headers, connection: "Upgrade", upgrade } : headers;
  }
}

async function forwardResponse(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const named = connectionOptions(message.headers.connection);
  const isDropped = (name: string) => hopByHopHeaders.has(name) || named.has(name);
  response.writeHead(message.statusCode ?? 502, collectHeaders(message.rawHeaders, isDropped));
  // The first event of a watch may be late.
  response.flushHeaders();
  await pipeline(message, response);
}

/** Responds with a Status, or aborts a response that has started. */
function sendFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.statusCode === 101) return void response.destroy();
  const failure = statusOf(error);
  const headers = { "content-type": "application/json", connection: "close" };
  response.writeHead(failure.code, headers).end(`${printJson(failure.status)}\n`);
}

function statusOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const { message } = error as Error;
  const reason = error instanceof DialFault ? message : `request failed: ${message}`;
  return serviceUnavailable(`error trying to reach the upstream: ${reason}`);
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
