import type { IncomingMessage } from "node:http";
import { posix } from "node:path";
import type { Readable } from "node:stream";
import { hostAndPort } from "#base";
import {
  badRequest,
  type Catalog,
  decodedPath,
  type Domain,
  internalError,
  plainFailure,
  serviceUnavailable,
  StatusError,
} from "#meta";
import type { ConnectRequest, Destination, Registry, ResourceRequest } from "#registry";
import { type Query, type RequestInfo, SimulatedAddress, type User } from "#request";
import type { Shutdown } from "../transport/shutdown.ts";
import { ClientGone, type Exchange, onlyReads } from "../transport/exchange.ts";
import { notRepresentable } from "../response/failures.ts";
import { routeAccepts } from "../response/negotiation.ts";
import type { StreamRoute } from "../routes/resource-route.ts";
import { forwardedHeaders, responseHeaders } from "./forwarded-headers.ts";
import { joinSockets, type Upgraded } from "./join-sockets.ts";
import { logStream, logTypes } from "./log-stream.ts";
import { type ProxiedResponse, rewrittenResponse } from "./proxied-response.ts";
import { DialFault, type TunnelResponse, type Tunnels, urlOf } from "./tunnels.ts";

/** The dependencies of streams. */
export interface StreamParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly tunnels: Tunnels;
  /** Aborts streams when the server shuts down. */
  readonly closing: Shutdown;
}

export interface StreamRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly user: User;
  readonly stream: StreamRoute;
}

/** Proxies a request for a connect subresource to a kubelet, pod or service. */
export async function runStream(parts: StreamParts, request: StreamRequest): Promise<void> {
  const { exchange, user, stream, info } = request;
  if (stream.subresource === "log" && !routeAccepts(exchange.header("accept"), logTypes)) {
    throw notRepresentable(logTypes);
  }
  const connectRequest = connectRequestOf(request);
  const target: ResourceRequest = { ...stream, user, context: exchange, userAgent: "" };
  const to = await parts.registry.connect(target, connectRequest);
  if (to === undefined) return sendNoContent(exchange);
  if (to.use === "upgrade" && exchange.upgrade === undefined) {
    throw badRequest("Upgrade request required");
  }
  if (isBareProxy(to, exchange)) return redirectToRoot(exchange, info, connectRequest);
  const proxied = { exchange, to, prefix: prefixOf(info, to), resource: stream };
  const unregister = parts.closing.add(() =>
    exchange.abort(new ClientGone("the server is shutting down")),
  );
  try {
    const response = await openBackend(parts, proxied);
    const { domain } = parts.catalog;
    if (response.kind === "response") await forwardResponse(response.message, proxied, domain);
    else await joinUpgrade(response, exchange);
  } finally {
    unregister();
  }
}

/** The decoded path after the subresource, as admission receives it, and the query as sent. */
function connectRequestOf({ exchange, info, query }: StreamRequest): ConnectRequest {
  const [, ...rawQuery] = exchange.url.split("?");
  const joined = info.rest.join("/");
  const rest = joined === "" || joined.startsWith("/") ? joined : `/${joined}`;
  const isFolder = info.path.endsWith("/") && !rest.endsWith("/");
  return { query, rawQuery: rawQuery.join("?"), path: isFolder ? `${rest}/` : rest };
}

/** Decoded path of the proxy that corresponds to the root of the backend. */
function prefixOf({ path }: RequestInfo, to: Destination): string {
  const target = decodedPath(to);
  const suffix = path.endsWith("/") && !target.endsWith("/") ? `${target}/` : target;
  return suffix !== "" && path.endsWith(suffix) ? path.slice(0, -suffix.length) : path;
}

function sendNoContent({ response }: Exchange): void {
  response.start(204, {});
  response.end();
}

function isBareProxy(to: Destination, { method, upgrade }: Exchange): boolean {
  const isRead = onlyReads(method) && upgrade === undefined;
  return to.use === "proxy" && to.path === "" && isRead;
}

/** Redirects to the path with a trailing slash, without which relative links of a page would break. */
function redirectToRoot(
  { response }: Exchange,
  { path }: RequestInfo,
  { rawQuery }: ConnectRequest,
): void {
  response.start(301, { location: `${path}/${rawQuery === "" ? "" : `?${rawQuery}`}` });
  response.end();
}

interface ProxiedStream {
  readonly exchange: Exchange;
  readonly to: Destination;
  /** Decoded path of this server that corresponds to the root of the backend. */
  readonly prefix: string;
  readonly resource: StreamRoute;
}

async function openBackend(
  { tunnels, catalog }: StreamParts,
  proxied: ProxiedStream,
): Promise<TunnelResponse> {
  const { exchange, to } = proxied;
  const { method, signal } = exchange;
  try {
    const headers = requestHeaders(proxied, catalog.domain);
    const hasBody = exchange.upgrade === undefined && !onlyReads(method);
    const body: Readable | undefined = hasBody ? exchange.stream?.() : undefined;
    return await tunnels.open(to, { method, headers, body, signal });
  } catch (error) {
    if (error instanceof SimulatedAddress) throw simulatedBackend(to, error.message);
    if (!(error instanceof DialFault)) throw error;
    throw unreachable(proxied, error.message);
  }
}

/** Unlike kube-apiserver for a failed dial, always 503: the request is never sent. */
function simulatedBackend({ use }: Destination, reason: string): StatusError {
  const failed = use === "proxy" ? "error trying to reach service" : "error dialing backend";
  return serviceUnavailable(`${failed}: ${reason}`);
}

function unreachable({ to, exchange }: ProxiedStream, reason: string): StatusError {
  if (to.use === "log") return plainFailure(`Get ${JSON.stringify(urlOf(to))}: ${reason}`);
  if (exchange.upgrade !== undefined) return plainFailure(`error dialing backend: ${reason}`);
  return serviceUnavailable(`error trying to reach service: ${reason}`);
}

function requestHeaders({ exchange, to, prefix }: ProxiedStream, domain: Domain) {
  // kube-apiserver reads logs with a request of its own.
  if (to.use === "log") return {};
  const headers = forwardedHeaders(exchange, domain);
  if (to.use !== "proxy" || exchange.upgrade !== undefined) return headers;
  return { ...headers, "x-forwarded-uri": posix.join(prefix, to.path || "/") };
}

async function forwardResponse(
  message: IncomingMessage,
  proxied: ProxiedStream,
  domain: Domain,
): Promise<void> {
  const { exchange, to } = proxied;
  const status = message.statusCode ?? 502;
  if (to.use !== "log" && exchange.upgrade !== undefined && status < 400) {
    message.destroy();
    throw plainFailure(`invalid upgrade response: status code ${status}`);
  }
  if (to.use === "log" && (status < 200 || status > 206)) throw await logFailure(message, proxied);
  const response = to.use === "log" ? logStream(exchange, domain) : exchange.response;
  if (response === undefined) return void message.destroy();
  try {
    const { headers, body } =
      to.use === "log"
        ? { headers: { "content-type": "text/plain" }, body: message }
        : await pageOf(message, proxied);
    response.start(status, headers);
    response.flush();
    for await (const chunk of body) {
      const wait = response.write([chunk]);
      if (wait !== undefined) await wait;
    }
    response.end();
  } catch (error) {
    if (exchange.signal.aborted) throw exchange.signal.reason;
    if (response.started || error instanceof StatusError) throw error;
    throw plainFailure("unexpected EOF");
  }
}

/** A response whose redirects and links lead through the proxy. */
function pageOf(
  message: IncomingMessage,
  { exchange, to, prefix }: ProxiedStream,
): Promise<ProxiedResponse> {
  const { host, port } = to;
  const backend = port === "" ? host : hostAndPort({ host, port });
  const requestHost = exchange.header("host") ?? exchange.header(":authority") ?? "";
  const headers = responseHeaders(message.headers, exchange);
  const rewriting = { scheme: "", host: "", prefix, backend, requestHost };
  return rewrittenResponse({ headers, body: message }, rewriting);
}

/** Maximum size in bytes of the part of a kubelet's error message that is forwarded. */
const maxFailureBytes = 50_000;

/** The Status for an error of the kubelet in response to a request for a log. */
async function logFailure(
  message: IncomingMessage,
  { resource }: ProxiedStream,
): Promise<StatusError> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of message) {
    chunks.push(chunk as Uint8Array);
    size += (chunk as Uint8Array).byteLength;
    if (size > maxFailureBytes) break;
  }
  const text = Buffer.concat(chunks).subarray(0, maxFailureBytes).toString("utf8");
  const code = message.statusCode ?? 500;
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const details = { name: resource.name, kind: "pods/log" };
  const { reason, message: genericMessage } = genericFailureOf(code);
  return new StatusError(
    {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: genericMessage === "" ? text : `${genericMessage} ( pods/log ${resource.name})`,
      reason,
      details: { ...details, causes: [{ reason: "UnexpectedServerResponse", message: text }] },
      code,
    },
    {},
  );
}

/** Reason and message of a response code as in client-go; "" = the message of the response. */
function genericFailureOf(code: number): { readonly reason: string; readonly message: string } {
  switch (code) {
    case 404:
      return { reason: "NotFound", message: "the server could not find the requested resource" };
    case 401:
      return {
        reason: "Unauthorized",
        message: "the server has asked for the client to provide credentials",
      };
    case 403:
      return { reason: "Forbidden", message: "" };
    case 503:
      return {
        reason: "ServiceUnavailable",
        message: "the server is currently unable to handle the request",
      };
    default: {
      const responded = `the server responded with the status code ${code}`;
      return { reason: "Unknown", message: `${responded} but did not return more information` };
    }
  }
}

/** Joins the upgraded connections of client and backend until one of them closes. */
export async function joinUpgrade(response: Upgraded, exchange: Exchange): Promise<void> {
  const { upgrade } = exchange;
  if (upgrade === undefined) {
    response.socket.destroy();
    throw internalError("the backend switched protocols without being asked to upgrade");
  }
  exchange.response.handOver(response.message.statusCode ?? 101);
  await joinSockets(upgrade, response);
}
