import { Router } from "@koa/router";
import { yieldEvery } from "#base";
import { type Catalog, genericFailure } from "#meta";
import type { Query, RequestInfo } from "#request";
import { sendResponse, sendText, gzipAbove, ResponseWriter } from "../response/response-writer.ts";
import { responseBufferPoolOf } from "../response/response-buffer-pool.ts";
import type { Debugging } from "../ops/debugging.ts";
import { discoveryResponse, rootResponse } from "../discovery/discovery.ts";
import type { DocumentResponse } from "../discovery/document-response.ts";
import { openApiResponse } from "../openapi/openapi.ts";
import type { Exchange } from "../transport/exchange.ts";
import { notRepresentable } from "../response/failures.ts";
import type { Health } from "../ops/health.ts";
import type { Limits } from "../limits.ts";
import type { PrometheusMetrics } from "../metrics/metrics.ts";

/** A document that never changes while the server runs. */
export interface ServerDocument {
  readonly contentType: string;
  readonly body: string;
}

export interface NonResourceParts {
  readonly documents: ReadonlyMap<string, ServerDocument>;
  readonly catalog: Catalog;
  readonly health: Health;
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
  readonly debugging: Debugging | undefined;
}

export interface NonResourceRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly query: Query;
}

const prefixes: Readonly<Record<string, readonly string[]>> = {
  debug: ["/debug/*page", "/statusz", "/flagz"],
  health: ["/healthz{/*check}", "/livez{/*check}", "/readyz{/*check}"],
  metrics: ["/metrics", "/metrics/slis"],
  openapi: ["/openapi/*document"],
};

/**
 * Names the family of a path that is no resource; requests inside the process have no Koa context,
 * so the router only matches and the stages response.
 */
const families = new Router({ sensitive: true, strict: true });
for (const [family, paths] of Object.entries(prefixes)) {
  for (const path of paths) families.all(family, path, () => undefined);
}

/** Everything that is no resource: health, metrics, documents; the rest is 404. */
export async function serveNonResource(
  parts: NonResourceParts,
  { exchange, info, query }: NonResourceRequest,
): Promise<void> {
  const { path } = info;
  const family = families.match(path, exchange.method).path.at(-1)?.name;
  if (family === "health" && (await parts.health.serve(exchange, path, query))) return;
  if (family === "debug" && parts.debugging !== undefined) {
    const limit = parts.limits.requestTimeout;
    if (await parts.debugging.serve({ exchange, path, query, limit })) return;
  }
  if (family === "metrics") {
    const { metrics } = parts;
    return sendMetrics(exchange, await (path === "/metrics" ? metrics.text() : metrics.slis()));
  }
  if (path === "/") {
    const others = [...parts.health.paths, ...(parts.debugging?.paths ?? [])];
    return sendDocument(exchange, rootResponse(parts.catalog, others), parts.limits);
  }
  const fixed = parts.documents.get(path);
  if (fixed !== undefined) return sendFixed(exchange, fixed);
  const document = await findDocument({ catalog: parts.catalog, exchange, path, family });
  if (document !== undefined) return sendDocument(exchange, document, parts.limits);
  if (belowServedPrefix(parts.catalog, path)) throw genericFailure(404);
  sendText(exchange, 404, "404 page not found\n");
}

function sendMetrics(exchange: Exchange, text: string): void {
  const headers = {
    "content-type": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
  };
  sendResponse(exchange, { status: 200, headers }, text);
}

interface DocumentRequest {
  readonly catalog: Catalog;
  readonly exchange: Exchange;
  readonly path: string;
  readonly family: string | undefined;
}

/** @throws StatusError 406 unless the Accept header takes its type. */
function sendFixed(exchange: Exchange, { contentType, body }: ServerDocument): void {
  if (exchange.method !== "GET") throw genericFailure(405);
  const accepted = (exchange.header("accept") || "*/*").split(",");
  const types = accepted.map((range) => range.split(";")[0]!.trim().toLowerCase());
  const [family] = contentType.split("/");
  if (!types.some((type) => [contentType, `${family}/*`, "*/*"].includes(type))) {
    throw notRepresentable([contentType]);
  }
  const headers = { "content-type": contentType, "cache-control": "public, max-age=3600" };
  sendResponse(exchange, { status: 200, headers }, body);
}

type AnyDocument = DocumentResponse<Uint8Array | readonly Uint8Array[]>;

async function findDocument(request: DocumentRequest): Promise<AnyDocument | undefined> {
  const { catalog, exchange, path, family } = request;
  const accept = exchange.header("accept");
  const ifNoneMatch = exchange.header("if-none-match");
  if (family !== "openapi") return discoveryResponse(catalog, path, accept, ifNoneMatch);
  const names = ["accept", "accept-encoding", "if-none-match", "if-modified-since"];
  const headers = Object.fromEntries(names.map((name) => [name, exchange.header(name)]));
  const query = new URLSearchParams(exchange.url.split("?").slice(1).join("?"));
  return openApiResponse(catalog, path, query, headers);
}

async function sendDocument(
  exchange: Exchange,
  document: AnyDocument,
  limits: Limits,
): Promise<void> {
  const { method } = exchange;
  if (document.methods === "get" && method !== "GET") throw genericFailure(405);
  const { status, headers, body } = document;
  const pieces = body instanceof Uint8Array ? [body] : body;
  if (method === "HEAD") return sendResponse(exchange, { status, headers }, Buffer.concat(pieces));
  const compressed = "content-encoding" in headers;
  const writer = new ResponseWriter(exchange.response, {
    status,
    headers,
    gzipAbove: compressed ? undefined : gzipAbove(exchange, limits.gzipThreshold),
    memory: responseBufferPoolOf(limits),
  });
  try {
    const turn = yieldEvery();
    for (const piece of pieces) {
      await writer.write(piece);
      await turn();
    }
    await writer.end();
  } finally {
    writer.abandon();
  }
}

/** Below these a missing path is the API's own 404, a Status. */
function belowServedPrefix(catalog: Catalog, path: string): boolean {
  if (path.startsWith("/api/") || path.startsWith("/version/")) return true;
  const [, first, group, version] = path.split("/");
  if (first !== "apis" || group === undefined || version === undefined) return false;
  // Custom resources are served by another server in Kubernetes, which says it in plain text.
  const [resource] = group === "" ? [] : catalog.inGroup(group);
  return resource !== undefined && resource.kind.custom === undefined;
}
