import { posix } from "node:path";
import type { Readable } from "node:stream";
import {
  type ApiServices,
  BackendError,
  type BackendRequest,
  type BackendResponse,
  type Backends,
  isAvailable,
  type RemoteApiService,
} from "#aggregator";
import { withoutBearerProtocol } from "#authn";
import { type Domain, StatusError } from "#meta";
import {
  escapePath,
  pathParts,
  type Query,
  type RequestInfo,
  type Tracer,
  type User,
} from "#request";
import type { RequestRecord } from "../metrics/requests.ts";
import { sendText } from "../response/response-writer.ts";
import { type Exchange, onlyReads } from "../transport/exchange.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import { forwardedFor, responseHeaders } from "./forwarded-headers.ts";
import { type ProxiedResponse, rewrittenResponse } from "./proxied-response.ts";
import { joinUpgrade } from "./streams.ts";

/** Access to aggregated API servers. */
export interface Aggregation {
  readonly apiServices: ApiServices;
  readonly backends: Backends;
  /** Whether a header (in lower case) is a user header of front proxies, such as `x-remote-user`. */
  readonly isUserHeader: (name: string) => boolean;
  /** Whether a redirect of an aggregated server is replaced by 502. */
  readonly rejectsRedirects: boolean;
}

export interface AggregationParts {
  readonly aggregation: Aggregation;
  readonly domain: Domain;
  readonly tracer: Tracer;
  readonly bodyLimit: number;
  /** Ends long-running responses when the server shuts down. */
  readonly closing: Shutdown;
}

export interface AggregatedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly user: User;
  /** Releases the flow-control seats of a watch, as its work is done by another server. */
  readonly initialized?: (() => void) | undefined;
}

/** Timeout of requests for discovery documents in ms, as in kube-apiserver. */
const discoveryMs = 5_000;
/** Time in ms within which the backend must respond to a request to upgrade. */
const upgradeMs = 60_000;

/** Proxies an authorized request to the server of an APIService. */
export async function proxyToBackend(
  parts: AggregationParts,
  request: AggregatedRequest,
  apiService: RemoteApiService,
): Promise<void> {
  const { exchange, record } = request;
  if (!isAvailable(apiService)) return sendFailure(request, "service unavailable");
  request.initialized?.();
  const body = await bodyOf(exchange, parts.bodyLimit);
  const outgoing: BackendRequest = {
    method: exchange.method,
    path: targetPath(request),
    headers: forwardedHeaders(parts, request),
    body,
    user: request.user,
    signal: exchange.signal,
    namesBackend: exchange.upgrade === undefined,
    timeoutMs: isDiscovery(request.info) && !record.longRunning ? discoveryMs : undefined,
  };
  try {
    if (exchange.upgrade === undefined) await proxyPlain(parts, request, { apiService, outgoing });
    else await proxyUpgrade(parts, request, { apiService, outgoing });
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    // The status has been sent: only aborting the response reports the failure.
    if (exchange.response.started) exchange.response.destroy();
    else sendFailure(request, failureText(error, exchange));
  } finally {
    discardRest(body);
  }
}

interface Outgoing {
  readonly apiService: RemoteApiService;
  readonly outgoing: BackendRequest;
}

async function proxyPlain(
  { aggregation, tracer, closing }: AggregationParts,
  request: AggregatedRequest,
  { apiService, outgoing }: Outgoing,
): Promise<void> {
  const { record } = request;
  const attributes = { "http.request.method": outgoing.method, "url.path": request.info.path };
  const response = await tracer.call("proxy", attributes, (trace) =>
    aggregation.backends.send(apiService, {
      ...outgoing,
      headers: { ...outgoing.headers, ...trace },
    }),
  );
  const { body } = response;
  let isClosing = false;
  const end = () => {
    isClosing = true;
    body.destroy();
  };
  const unregister = record.longRunning ? closing.add(end) : () => false;
  try {
    await sendResponse(aggregation, request, response);
  } catch (error) {
    if (!isClosing) throw error;
    request.exchange.response.end();
  } finally {
    unregister();
    body.destroy();
  }
}

async function proxyUpgrade(
  { aggregation, closing }: AggregationParts,
  request: AggregatedRequest,
  { apiService, outgoing }: Outgoing,
): Promise<void> {
  const { exchange } = request;
  const protocol = exchange.header("upgrade") ?? "";
  const upgrade = { ...outgoing, protocol, timeoutMs: upgradeMs };
  const result = await aggregation.backends.upgrade(apiService, upgrade);
  if (result.kind === "upgraded") {
    const unregister = closing.add(() => void result.socket.destroy());
    try {
      return await joinUpgrade(result, exchange);
    } finally {
      unregister();
    }
  }
  const { response } = result;
  if (response.status >= 400) return sendResponse(aggregation, request, response);
  response.body.destroy();
  sendFailure(request, `invalid upgrade response: status code ${response.status}`);
}

/** Path and query as parsed here, so that the backend cannot interpret them differently. */
function targetPath({ info, query }: AggregatedRequest): string {
  const encoded = query.encoded();
  return `${escapePath(info.path)}${encoded === "" ? "" : `?${encoded}`}`;
}

function isDiscovery({ isResource, path }: RequestInfo): boolean {
  return !isResource && pathParts(path).length === 3;
}

/** The body of the request; undefined if it has none. */
async function bodyOf(
  exchange: Exchange,
  limit: number,
): Promise<Readable | Uint8Array | undefined> {
  if (onlyReads(exchange.method) || exchange.upgrade !== undefined) return undefined;
  if (exchange.stream !== undefined) return hasBody(exchange) ? exchange.stream() : undefined;
  const bytes = await exchange.body(limit);
  return bytes.byteLength === 0 ? undefined : bytes;
}

function hasBody(exchange: Exchange): boolean {
  const length = exchange.header("content-length");
  if (length !== undefined) return length !== "0";
  const isHttp2 = exchange.header(":method") !== undefined;
  return isHttp2 || exchange.header("transfer-encoding") !== undefined;
}

/** Discards the unread rest of a request body, which would block the client's connection. */
function discardRest(body: Readable | Uint8Array | undefined): void {
  if (body === undefined || body instanceof Uint8Array) return;
  body.unpipe();
  body.resume();
}

function forwardedHeaders(
  { aggregation, domain }: AggregationParts,
  { exchange, info }: AggregatedRequest,
): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of exchange.headersBelow("")) {
    if (aggregation.isUserHeader(name)) continue;
    headers[name] = values.length === 1 ? values[0]! : values;
  }
  const protocols = headers["sec-websocket-protocol"];
  if (protocols !== undefined) {
    headers["sec-websocket-protocol"] = withoutBearerProtocol([protocols].flat().join(","), domain);
  }
  const clients = forwardedFor(headers["x-forwarded-for"], exchange);
  const forwarded = {
    ...headers,
    "audit-id": exchange.auditId,
    ...(clients === undefined ? {} : { "x-forwarded-for": clients }),
  };
  if (exchange.upgrade !== undefined) return forwarded;
  const uri = posix.join("/", escapePath(info.path));
  return { ...forwarded, "x-forwarded-uri": uri, "x-forwarded-proto": "https" };
}

async function sendResponse(
  { rejectsRedirects }: Aggregation,
  request: AggregatedRequest,
  backendResponse: BackendResponse,
): Promise<void> {
  const { exchange, record } = request;
  const { status, body } = backendResponse;
  if (rejectsRedirects && isRedirect(backendResponse)) {
    record.code = 502;
    body.destroy();
    const text = "the backend attempted to redirect this request, which is not permitted";
    return sendText(exchange, 502, text);
  }
  const page = await pageOf(backendResponse, exchange);
  if (typeof page === "string") return sendFailure(request, page);
  record.code = status;
  const { response } = exchange;
  response.start(status, page.headers);
  response.flush();
  try {
    for await (const chunk of page.body) {
      const wait = response.write([chunk]);
      if (wait !== undefined) await wait;
    }
  } catch (error) {
    if (exchange.signal.aborted) throw exchange.signal.reason;
    throw error;
  }
  response.end();
}

/**
 * A response whose redirects and links name the backend, as those of kube-aggregator do; the message of a
 * failure to rewrite them.
 */
async function pageOf(
  { headers, body, authority }: BackendResponse,
  exchange: Exchange,
): Promise<ProxiedResponse | string> {
  const rewriting = { scheme: "https", host: authority, prefix: "" };
  const hosts = { backend: authority, requestHost: authority };
  const kept = { headers: responseHeaders(headers, exchange), body };
  try {
    return await rewrittenResponse(kept, { ...rewriting, ...hosts });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    body.destroy();
    return error.message;
  }
}

/** A redirect could make a client send its credentials to another server. */
function isRedirect({ status, headers }: BackendResponse): boolean {
  return status >= 300 && status <= 399 && headers["location"] !== undefined;
}

function failureText({ failure, message }: BackendError, { upgrade }: Exchange): string {
  if (failure === "unresolved") return "service unavailable";
  if (upgrade !== undefined) return `error dialing backend: ${message}`;
  return `error trying to reach service: ${message}`;
}

function sendFailure({ exchange, record }: AggregatedRequest, text: string): void {
  record.code = 503;
  sendText(exchange, 503, `${text}\n`);
}
