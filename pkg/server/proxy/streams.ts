import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { withoutBearerProtocol } from "#authn";
import { connectionOptions, hopByHopHeaders } from "#base";
import {
  badRequest,
  type Catalog,
  type Domain,
  internalError,
  plainFailure,
  serviceUnavailable,
  StatusError,
} from "#meta";
import type { Destination, Registry, ResourceRequest } from "#registry";
import { type Query, type RequestInfo, SimulatedAddress, type User } from "#request";
import type { Shutdown } from "../transport/shutdown.ts";
import { ClientGone, type Exchange, onlyReads } from "../transport/exchange.ts";
import type { StreamRoute } from "../routes/resource-route.ts";
import { collectHeaders } from "./headers.ts";
import { joinSockets, type Upgraded } from "./join-sockets.ts";
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
  const { exchange, query, user, stream } = request;
  const { rawPath, rawQuery, prefix } = splitUrl(request);
  const target: ResourceRequest = { ...stream, user, context: exchange, userAgent: "" };
  const to = await parts.registry.connect(target, { query, rawQuery, rawPath });
  if (to === undefined) return sendNoContent(exchange);
  if (to.use === "upgrade" && exchange.upgrade === undefined) {
    throw badRequest("Upgrade request required");
  }
  if (isBareProxy(to, exchange)) return redirectToRoot(exchange, `${prefix}/`, rawQuery);
  const proxied = { exchange, to, prefix, resource: stream };
  const unregister = parts.closing.add(() =>
    exchange.abort(new ClientGone("the server is shutting down")),
  );
  try {
    const response = await openBackend(parts, proxied);
    if (response.kind === "response") await forwardResponse(response.message, proxied);
    else await joinUpgrade(response, exchange);
  } finally {
    unregister();
  }
}

/** Splits the URL, without decoding it, into the path up to the subresource, the rest, and the query. */
function splitUrl({ exchange, info }: StreamRequest) {
  const [path = "", ...query] = exchange.url.split("?");
  const rawQuery = query.join("?");
  const parts = path.split("/");
  // Counted from the front, since the rest may contain escaped slashes.
  const prefixLength = info.path.split("/").length - info.rest.length - trailingSlashes(info);
  const rest = parts.slice(prefixLength);
  return {
    rawQuery,
    rawPath: rest.length === 0 ? "" : `/${rest.join("/")}`,
    prefix: parts.slice(0, prefixLength).join("/"),
  };
}

/** Number of trailing slashes, which RequestInfo drops and the backend must receive. */
function trailingSlashes({ path }: RequestInfo): number {
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  return path.length - end;
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
function redirectToRoot({ response }: Exchange, path: string, query: string): void {
  response.start(301, { location: query === "" ? path : `${path}?${query}` });
  response.end();
}

interface ProxiedStream {
  readonly exchange: Exchange;
  readonly to: Destination;
  /** Path of this server that corresponds to the root of the backend. */
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

/** Hop-by-hop headers and credentials, which are not forwarded. */
const droppedHeaders = new Set([...hopByHopHeaders, "host", "authorization", "audit-id"]);
const droppedPrefixes = [":", "impersonate-", "x-remote-", "x-forwarded-"];

function requestHeaders(
  { exchange, to, prefix }: ProxiedStream,
  domain: Domain,
): Record<string, string | string[]> {
  const named = connectionOptions(exchange.header("connection"));
  const isDropped = (name: string) =>
    droppedHeaders.has(name) ||
    named.has(name) ||
    droppedPrefixes.some((start) => name.startsWith(start));
  const headers = collectHeaders(exchange.rawHeaders ?? [], isDropped);
  const protocols = headers["sec-websocket-protocol"];
  if (protocols !== undefined) {
    headers["sec-websocket-protocol"] = withoutBearerProtocol([protocols].flat().join(","), domain);
  }
  if (exchange.upgrade !== undefined) {
    headers["connection"] = "Upgrade";
    headers["upgrade"] = exchange.header("upgrade") ?? "";
  } else if (to.use === "proxy") {
    const host = exchange.header("host") ?? exchange.header(":authority");
    headers["x-forwarded-uri"] = `${prefix}${to.path}`;
    headers["x-forwarded-proto"] = "https";
    if (host !== undefined) headers["x-forwarded-host"] = host;
  }
  return headers;
}

async function forwardResponse(message: IncomingMessage, proxied: ProxiedStream): Promise<void> {
  const { exchange, to } = proxied;
  const status = message.statusCode ?? 502;
  if (to.use === "log" && (status < 200 || status > 206)) throw await logFailure(message, proxied);
  const { response } = exchange;
  response.start(status, to.use === "log" ? logHeaders(message) : proxyHeaders(message, proxied));
  response.flush();
  try {
    for await (const chunk of message) {
      const wait = response.write([chunk as Uint8Array]);
      if (wait !== undefined) await wait;
    }
    response.end();
  } catch (error) {
    if (exchange.signal.aborted) throw exchange.signal.reason;
    throw error;
  }
}

function logHeaders({ headers }: IncomingMessage): Record<string, string> {
  return { "content-type": headers["content-type"] ?? "text/plain" };
}

function proxyHeaders(
  message: IncomingMessage,
  proxied: ProxiedStream,
): Record<string, string | string[]> {
  const { connection, location } = message.headers;
  const named = connectionOptions(connection);
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined && !droppedHeaders.has(name) && !named.has(name)) headers[name] = value;
  }
  if (location !== undefined) headers["location"] = rewriteLocation(location, proxied);
  return headers;
}

/** Rewrites a redirect within the backend to the path of the proxy. */
function rewriteLocation(location: string, { to, prefix }: ProxiedStream): string {
  const root = urlOf({ ...to, path: "", query: "" });
  const withoutPort = root.replace(/:(?:80|443)$/, "");
  for (const origin of [root, withoutPort]) {
    if (location === origin || location.startsWith(`${origin}/`)) {
      return prefix + location.slice(origin.length);
    }
  }
  return location.startsWith("/") && !location.startsWith("//") ? prefix + location : location;
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
