/** Serves `/openapi/v2` and `/openapi/v3`. */
import type { RemoteDocument, RemoteSpec } from "#aggregator";
import { yieldEvery, printJson } from "#base";
import type { Catalog } from "#meta";
import type { DocumentResponse, DocumentHeaders } from "../discovery/document-response.ts";
import { covers, parseAccept } from "../response/negotiation.ts";
import { type OpenApiDocument, openApiV3Documents } from "./documents.ts";
import { mergedV2Document } from "./merged-document.ts";

/** The resources of this server and the documents of aggregated servers. */
export interface OpenApiView {
  readonly catalog: Catalog;
  readonly remoteSpecs: readonly RemoteSpec[];
  /** OpenAPI 3 documents by path below `/openapi/v3/`. */
  readonly remoteDocuments: ReadonlyMap<string, RemoteDocument>;
  /** Called per full response and definition that is served as an opaque object, with the error. */
  readonly reportFault: (fault: string) => void;
}

/** A response with its body in chunks. */
type OpenApiResponse = DocumentResponse<readonly Uint8Array[]>;

const jsonMediaType = "application/json";
const v3Path = "/openapi/v3";

/** Cache-Control of URLs with a hash: one year, the maximum that RFC 2616 recommends. */
const immutableCacheControl = "public, immutable, max-age=31536000";

/**
 * The response to a path at or below `/openapi/v2` or `/openapi/v3`, or undefined for other paths.
 * The index at `/openapi/v3` lists the documents with a URL that contains their hash: its response may
 * be cached indefinitely, and a URL with an outdated hash redirects to the current one.
 */
export async function openApiResponse(
  view: OpenApiView,
  path: string,
  query: URLSearchParams,
  headers: DocumentHeaders,
): Promise<OpenApiResponse | undefined> {
  if (path === "/openapi/v2") {
    const document = await mergedV2Document(view.catalog, view.remoteSpecs);
    return contentResponse(view, document, { version: "v2", headers, caching: {} });
  }
  if (path === v3Path) return indexResponse(view);
  if (!path.startsWith(`${v3Path}/`)) return undefined;
  const address = path.slice(v3Path.length + 1);
  const remote = view.remoteDocuments.get(address);
  const entry = remote ? convertedEntry(remote) : openApiV3Documents(view.catalog).get(address);
  if (entry === undefined) return responseOf(404, {});
  const hash = query.get("hash") ?? "";
  if (hash !== "" && hash !== (await entry.hash())) {
    const location = relativeUrl(address, await entry.hash());
    return responseOf(301, { "content-type": jsonMediaType, location });
  }
  const caching: Record<string, string> =
    hash === "" ? {} : { "cache-control": immutableCacheControl };
  return contentResponse(view, await entry.document(), { version: "v3", headers, caching });
}

/** A document that this server converted from Swagger 2.0; undefined = requests for it are proxied. */
function convertedEntry({ converted, hash }: RemoteDocument) {
  if (converted === undefined) return undefined;
  const document = { json: [converted], hash, faults: [] };
  return { hash: () => Promise.resolve(hash), document: () => Promise.resolve(document) };
}

function responseOf(
  status: number,
  headers: Record<string, string>,
  body: readonly Uint8Array[] = [],
): OpenApiResponse {
  return { status, headers, body, methods: "any" };
}

function relativeUrl(address: string, hash: string): string {
  return hash === "" ? `${v3Path}/${address}` : `${v3Path}/${address}?hash=${hash}`;
}

/** The index, always as `text/plain` like kube-apiserver's; clients parse it as JSON. */
async function indexResponse({ catalog, remoteDocuments }: OpenApiView): Promise<OpenApiResponse> {
  const entries: [string, object][] = [];
  const add = (address: string, hash: string) =>
    entries.push([address, { serverRelativeURL: relativeUrl(address, hash) }]);
  const turn = yieldEvery();
  for (const [address, { hash }] of openApiV3Documents(catalog)) {
    if (!remoteDocuments.has(address)) add(address, await hash());
    await turn();
  }
  for (const [address, { hash }] of remoteDocuments) add(address, hash);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  const body = Buffer.from(printJson({ paths: Object.fromEntries(entries) }));
  return responseOf(200, { "content-type": "text/plain; charset=utf-8" }, [body]);
}

interface ContentRequest {
  readonly version: "v2" | "v3";
  readonly headers: DocumentHeaders;
  readonly caching: Readonly<Record<string, string>>;
}

async function contentResponse(
  { reportFault }: OpenApiView,
  document: OpenApiDocument,
  request: ContentRequest,
): Promise<OpenApiResponse> {
  const { protobuf } = document;
  const available = { version: request.version, hasProtobuf: protobuf !== undefined };
  const media = negotiateMedia(request.headers["accept"], available);
  if (media === undefined) return responseOf(406, {});
  const tag = { etag: `"${document.hash}"`, vary: "Accept", ...request.caching };
  if (request.headers["if-none-match"] === tag.etag) return responseOf(304, tag);
  document.faults.forEach(reportFault);
  const isProtobuf = media !== jsonMediaType && protobuf !== undefined;
  const body = isProtobuf ? await protobuf() : document.json;
  return responseOf(200, { "content-type": media, ...tag }, body);
}

/**
 * The media type of the preferred clause that is available; JSON without Accept. Old clients request
 * Protobuf with an invalid media type that contains `@`; responses never have it.
 */
function negotiateMedia(
  accept: string | undefined,
  { version, hasProtobuf }: { readonly version: "v2" | "v3"; readonly hasProtobuf: boolean },
): string | undefined {
  if (accept === undefined || accept === "") return jsonMediaType;
  const prefix = `application/com.github.proto-openapi.spec.${version}`;
  const protobuf = `${prefix}.v1.0+protobuf`;
  for (const clause of parseAccept(accept)) {
    if (covers(clause, jsonMediaType)) return jsonMediaType;
    if (!hasProtobuf) continue;
    if (covers(clause, protobuf) || covers(clause, `${prefix}@v1.0+protobuf`)) return protobuf;
  }
  return undefined;
}
