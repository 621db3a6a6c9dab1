import { Router } from "@koa/router";
import { type Logger, yieldEvery } from "#base";
import {
  type DiscoverySnapshot,
  noApiServices,
  type OpenApiV3Roots,
  type RemoteSpec,
} from "#aggregator";
import { type Catalog, genericFailure } from "#meta";
import { sendResponse, sendText, gzipAbove, ResponseWriter } from "../response/response-writer.ts";
import { responseBufferPoolOf } from "../response/response-buffer-pool.ts";
import type { Debugging } from "../ops/debugging.ts";
import type { DiscoveryView } from "../discovery/discovered-groups.ts";
import { parseAccept, wantsPretty } from "../response/negotiation.ts";
import { discoveryResponse, prettyDocument, rootResponse } from "../discovery/discovery.ts";
import type { DocumentResponse } from "../discovery/document-response.ts";
import { openApiResponse, type OpenApiView } from "../openapi/openapi.ts";
import { proxyDocument, queryOf } from "../openapi/proxied-document.ts";
import type { RequestState } from "../stages/state.ts";
import type { Exchange } from "../transport/exchange.ts";
import { isServed } from "./api-routes.ts";
import { notRepresentable } from "../response/failures.ts";
import type { Health } from "../ops/health.ts";
import type { Limits } from "../limits.ts";
import type { PrometheusMetrics } from "../metrics/metrics.ts";

/** A document that does not change while the server runs. */
export interface ServerDocument {
  readonly contentType: string;
  readonly body: string;
}

/** Discovery and OpenAPI documents of aggregated servers. */
export interface AggregatedDocuments {
  readonly discovery: { readonly current: DiscoverySnapshot };
  /** Whether aggregated discovery is also served as v2beta1. */
  readonly servesBetaDiscovery: boolean;
  readonly openApiV2: { readonly current: readonly RemoteSpec[] };
  readonly openApiV3: Pick<OpenApiV3Roots, "current" | "open">;
}

export const noAggregatedDocuments: AggregatedDocuments = {
  discovery: { current: noApiServices },
  servesBetaDiscovery: false,
  openApiV2: { current: [] },
  openApiV3: {
    current: new Map(),
    open: () => Promise.reject(new Error("no other server is aggregated")),
  },
};

export interface DocumentParts {
  readonly documents: ReadonlyMap<string, ServerDocument>;
  readonly catalog: Catalog;
  readonly aggregated: AggregatedDocuments;
  readonly health: Health;
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
  readonly debugging: Debugging | undefined;
  readonly logger: Logger;
}

const patterns = {
  health: ["/healthz{/*check}", "/livez{/*check}", "/readyz{/*check}"],
  debug: ["/debug/*page", "/statusz", "/flagz"],
  openApi: ["/openapi/*document"],
  discovery: [
    "/version{/}",
    "/api{/}",
    "/api/:version{/}",
    "/apis{/}",
    "/apis/:group{/}",
    "/apis/:group/:version{/}",
  ],
};

/** Routes of non-resource paths: health, metrics, debugging, discovery and OpenAPI. */
export function documentRoutes(parts: DocumentParts): Router<RequestState> {
  const { catalog, aggregated, health, limits, metrics, debugging, logger } = parts;
  const view = (): DiscoveryView => ({
    catalog,
    registered: aggregated.discovery.current,
    servesBeta: aggregated.servesBetaDiscovery,
  });
  const openApiView = (): OpenApiView => ({
    catalog,
    remoteSpecs: aggregated.openApiV2.current,
    remoteDocuments: aggregated.openApiV3.current,
    reportFault: (fault) => logger.error("OpenAPI definition is served as an opaque object", fault),
  });
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  router.all(patterns.health, async ({ state: { exchange, info, query } }, next) => {
    if (!(await health.serve(exchange, info.path, query))) await next();
  });
  router.all("/metrics", async ({ state: { exchange } }) => {
    if (exchange.method !== "DELETE") return sendMetrics(exchange, await metrics.text());
    metrics.reset("all");
    sendReset(exchange);
  });
  router.all("/metrics/slis", async ({ state: { exchange } }) => {
    if (exchange.method !== "DELETE") return sendMetrics(exchange, await metrics.slis());
    metrics.reset("slis");
    sendReset(exchange);
  });
  router.all(patterns.debug, async ({ state: { exchange, info, query } }, next) => {
    const maxProfileMs = limits.requestTimeout;
    if (!(await debugging?.serve({ exchange, path: info.path, query, maxProfileMs }))) await next();
  });
  router.all("/", ({ state: { exchange } }) => {
    const others = [...health.paths, ...(debugging?.paths ?? [])];
    return sendDocument(exchange, rootResponse(view(), others), limits);
  });
  for (const [path, document] of parts.documents) {
    router.all(path, ({ state }) => sendStatic(state.exchange, document));
  }
  router.all(patterns.openApi, async ({ state: { exchange, info, user } }, next) => {
    const request = { exchange, path: info.path, user, limits };
    if (await proxyDocument(aggregated.openApiV3, request)) return;
    const document = await openApiDocument(openApiView(), exchange, info.path);
    await (document === undefined ? next() : sendDocument(exchange, document, limits));
  });
  router.all(patterns.discovery, async ({ state: { exchange, info, query } }, next) => {
    const [accept, etag] = [exchange.header("accept"), exchange.header("if-none-match")];
    const document = discoveryResponse(view(), info.path, accept, etag);
    if (document === undefined) return next();
    const isPretty =
      wantsPretty(query.get("pretty"), exchange.header("user-agent")) ||
      parseAccept(accept ?? "")[0]?.parameters.get("pretty") === "1";
    const sent = isPretty ? await prettyDocument(document) : document;
    await sendDocument(exchange, sent, limits);
  });
  return router;
}

/**
 * Responds to requests that no route matched.
 * @throws StatusError 404 below the paths of the API, 405 for unsupported methods of a resource
 */
export function notFound(catalog: Catalog, { exchange, info, resource }: RequestState): void {
  if (isServed(catalog, { info, resource })) {
    throw genericFailure(resource === undefined ? 404 : 405);
  }
  if (isBelowServedPrefix(catalog, info.path)) throw genericFailure(404);
  sendText(exchange, 404, "404 page not found\n");
}

function sendMetrics(exchange: Exchange, text: string): void {
  const headers = {
    "content-type": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
  };
  sendResponse(exchange, { status: 200, headers }, text);
}

function sendReset(exchange: Exchange): void {
  const headers = { "content-type": "text/plain; charset=utf-8" };
  sendResponse(exchange, { status: 200, headers }, "metrics reset\n");
}

/** @throws StatusError 405 unless the method is GET, 406 unless Accept matches the content type */
function sendStatic(exchange: Exchange, { contentType, body }: ServerDocument): void {
  if (exchange.method !== "GET") throw genericFailure(405);
  const accepted = (exchange.header("accept") || "*/*").split(",");
  const ranges = accepted.map((range) => range.split(";")[0]!.trim().toLowerCase());
  const [type] = contentType.split("/");
  if (!ranges.some((range) => [contentType, `${type}/*`, "*/*"].includes(range))) {
    throw notRepresentable([contentType]);
  }
  const headers = { "content-type": contentType, "cache-control": "public, max-age=3600" };
  sendResponse(exchange, { status: 200, headers }, body);
}

type AnyDocument = DocumentResponse<Uint8Array | readonly Uint8Array[]>;

function openApiDocument(
  view: OpenApiView,
  exchange: Exchange,
  path: string,
): Promise<AnyDocument | undefined> {
  const names = ["accept", "accept-encoding", "if-none-match", "if-modified-since"];
  const headers = Object.fromEntries(names.map((name) => [name, exchange.header(name)]));
  return openApiResponse(view, path, queryOf(exchange), headers);
}

async function sendDocument(
  exchange: Exchange,
  document: AnyDocument,
  limits: Limits,
): Promise<void> {
  const { method } = exchange;
  if (document.methods === "get" && method !== "GET") throw genericFailure(405);
  const { status, headers, body } = document;
  const chunks = body instanceof Uint8Array ? [body] : body;
  if (method === "HEAD") return sendResponse(exchange, { status, headers }, Buffer.concat(chunks));
  const compressed = "content-encoding" in headers;
  const writer = new ResponseWriter(exchange.response, {
    status,
    headers,
    gzipAbove: compressed ? undefined : gzipAbove(exchange, limits.gzipThreshold),
    memory: responseBufferPoolOf(limits),
  });
  try {
    const turn = yieldEvery();
    for (const chunk of chunks) {
      await writer.write(chunk);
      await turn();
    }
    await writer.end();
  } finally {
    writer.abandon();
  }
}

/** Whether a missing path below a served prefix is a 404 with a Status, not in plain text. */
function isBelowServedPrefix(catalog: Catalog, path: string): boolean {
  if (path.startsWith("/api/") || path.startsWith("/version/")) return true;
  const [, first, group, version] = path.split("/");
  if (first !== "apis" || group === undefined || version === undefined) return false;
  // As in kube-apiserver, where apiextensions-apiserver responds in plain text for custom resources.
  const [resource] = group === "" ? [] : catalog.inGroup(group);
  return resource !== undefined && resource.kind.custom === undefined;
}
