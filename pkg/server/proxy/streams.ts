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
import type { Query, RequestInfo, User } from "#request";
import type { Shutdown } from "../transport/shutdown.ts";
import { ClientGone, type Exchange, onlyReads } from "../transport/exchange.ts";
import type { StreamRoute } from "../routes/resource-route.ts";
import { collectHeaders } from "./headers.ts";
import { joinSockets, type Upgraded } from "./join-sockets.ts";
import { DialFault, type TunnelResponse, type Tunnels, urlOf } from "./tunnels.ts";

/** What streams take beside the request. */
export interface StreamParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly tunnels: Tunnels;
  /** Streams are cut when the server closes: they would have no end of their own. */
  readonly closing: Shutdown;
}

export interface StreamRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly user: User;
  readonly stream: StreamRoute;
}

/** Passes a request on to a kubelet or to what runs in the cluster, and its response back. */
export async function runStream(parts: StreamParts, request: StreamRequest): Promise<void> {
  const { exchange, query, user, stream } = request;
  const { rawPath, rawQuery, prefix } = partsOf(request);
  const target: ResourceRequest = { ...stream, user, context: exchange, userAgent: "" };
  const to = await parts.registry.connect(target, { query, rawQuery, rawPath });
  if (to === undefined) return sendNoContent(exchange);
  if (to.use === "upgrade" && exchange.upgrade === undefined) {
    throw badRequest("Upgrade request required");
  }
  if (isBareProxy(to, exchange)) return redirectToRoot(exchange, `${prefix}/`, rawQuery);
  const passing = { exchange, to, prefix, resource: stream };
  const forget = parts.closing.add(() => exchange.abort(new ClientGone("the server closes")));
  try {
    const response = await opened(parts, passing);
    if (response.kind === "response") await forwardResponse(response.message, passing);
    else await join(response, exchange);
  } finally {
    forget();
  }
}

/** The raw parts of the path around the subresource. */
function partsOf({ exchange, info }: StreamRequest) {
  const [path = "", ...query] = exchange.url.split("?");
  const rawQuery = query.join("?");
  const parts = path.split("/");
  // Counted from the front: what follows may have escaped slashes, names do not.
  const own = info.path.split("/").length - info.rest.length - trailingSlashes(info);
  const rest = parts.slice(own);
  return {
    rawQuery,
    rawPath: rest.length === 0 ? "" : `/${rest.join("/")}`,
    prefix: parts.slice(0, own).join("/"),
  };
}

/** Number of slashes that the path ends with: RequestInfo drops them, the backend gets them. */
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

/** Relative links of the page behind a proxy only work below a path that ends in a slash. */
function redirectToRoot({ response }: Exchange, path: string, query: string): void {
  response.start(301, { location: query === "" ? path : `${path}?${query}` });
  response.end();
}

interface Passing {
  readonly exchange: Exchange;
  readonly to: Destination;
  /** Path of this server that the other end's root has here. */
  readonly prefix: string;
  readonly resource: StreamRoute;
}

async function opened(
  { tunnels, catalog }: StreamParts,
  passing: Passing,
): Promise<TunnelResponse> {
  const { exchange, to } = passing;
  const { method, signal } = exchange;
  try {
    const headers = forwarded(passing, catalog.domain);
    const hasBody = exchange.upgrade === undefined && !onlyReads(method);
    const body: Readable | undefined = hasBody ? exchange.stream?.() : undefined;
    return await tunnels.open(to, { method, headers, body, signal });
  } catch (error) {
    if (!(error instanceof DialFault)) throw error;
    throw unreachable(passing, error.message);
  }
}

function unreachable({ to, exchange }: Passing, why: string): StatusError {
  if (to.use === "log") return plainFailure(`Get ${JSON.stringify(urlOf(to))}: ${why}`);
  if (exchange.upgrade !== undefined) return plainFailure(`error dialing backend: ${why}`);
  return serviceUnavailable(`error trying to reach service: ${why}`);
}

/** Belong to one connection, or tell who the client is to this server. */
const ownHeaders = new Set([...hopByHopHeaders, "host", "authorization", "audit-id"]);
const ownPrefixes = [":", "impersonate-", "x-remote-", "x-forwarded-"];

function forwarded(
  { exchange, to, prefix }: Passing,
  domain: Domain,
): Record<string, string | string[]> {
  const named = connectionOptions(exchange.header("connection"));
  const isOwn = (name: string) =>
    ownHeaders.has(name) || named.has(name) || ownPrefixes.some((start) => name.startsWith(start));
  const headers = collectHeaders(exchange.rawHeaders ?? [], isOwn);
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

async function forwardResponse(message: IncomingMessage, passing: Passing): Promise<void> {
  const { exchange, to } = passing;
  const status = message.statusCode ?? 502;
  if (to.use === "log" && (status < 200 || status > 206)) throw await refusal(message, passing);
  const { response } = exchange;
  response.start(status, to.use === "log" ? logHeaders(message) : returned(message, passing));
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

function returned(message: IncomingMessage, passing: Passing): Record<string, string | string[]> {
  const { connection, location } = message.headers;
  const named = connectionOptions(connection);
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined && !ownHeaders.has(name) && !named.has(name)) headers[name] = value;
  }
  if (location !== undefined) headers["location"] = relocated(location, passing);
  return headers;
}

/** A redirection within the backend stays behind the proxy. */
function relocated(location: string, { to, prefix }: Passing): string {
  const root = urlOf({ ...to, path: "", query: "" });
  const bare = root.replace(/:(?:80|443)$/, "");
  for (const start of [root, bare]) {
    if (location === start || location.startsWith(`${start}/`)) {
      return prefix + location.slice(start.length);
    }
  }
  return location.startsWith("/") && !location.startsWith("//") ? prefix + location : location;
}

/** Longest part of a kubelet's refusal that is passed on, in bytes. */
const longestRefusal = 50_000;

/** What the kubelet says against a log, as a Status. */
async function refusal(message: IncomingMessage, { resource }: Passing): Promise<StatusError> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of message) {
    chunks.push(chunk as Uint8Array);
    size += (chunk as Uint8Array).byteLength;
    if (size > longestRefusal) break;
  }
  const text = Buffer.concat(chunks).subarray(0, longestRefusal).toString("utf8");
  const code = message.statusCode ?? 500;
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const details = { name: resource.name, kind: "pods/log" };
  const { reason, words } = generic(code);
  const head = `${words} ( pods/log ${resource.name})`;
  return new StatusError(
    {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: words === "" ? text : head,
      reason,
      details: { ...details, causes: [{ reason: "UnexpectedServerResponse", message: text }] },
      code,
    },
    {},
  );
}

function generic(code: number): { readonly reason: string; readonly words: string } {
  switch (code) {
    case 404:
      return { reason: "NotFound", words: "the server could not find the requested resource" };
    case 401:
      return {
        reason: "Unauthorized",
        words: "the server has asked for the client to provide credentials",
      };
    case 403:
      return { reason: "Forbidden", words: "" };
    case 503:
      return {
        reason: "ServiceUnavailable",
        words: "the server is currently unable to handle the request",
      };
    default: {
      const responded = `the server responded with the status code ${code}`;
      return { reason: "Unknown", words: `${responded} but did not return more information` };
    }
  }
}

/** Lets both ends speak with each other until one leaves. */
export async function join(response: Upgraded, exchange: Exchange): Promise<void> {
  const { upgrade } = exchange;
  if (upgrade === undefined) {
    response.socket.destroy();
    throw internalError("the backend speaks another protocol unasked");
  }
  exchange.response.handOver(response.message.statusCode ?? 101);
  await joinSockets(upgrade, response);
}
