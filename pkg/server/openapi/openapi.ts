/** Serves `/openapi/v2` and `/openapi/v3`. */
import type { RemoteDocument, RemoteSpec } from "#aggregator";
import type { Catalog } from "#meta";
import type { DocumentResponse, DocumentHeaders } from "../discovery/document-response.ts";
import { covers, parseAccept } from "../response/negotiation.ts";
import { type OpenApiDocument, openApiV3Documents } from "./documents.ts";
import { mergedV2Document } from "./merged-document.ts";

/** What this server serves, and the documents of other servers. */
export interface OpenApiView {
  readonly catalog: Catalog;
  readonly remoteSpecs: readonly RemoteSpec[];
  /** By address. */
  readonly remoteDocuments: ReadonlyMap<string, RemoteDocument>;
}

/** Its body may be large, and comes in pieces. */
type OpenApiResponse = DocumentResponse<readonly Uint8Array[]>;

const JSON_MEDIA = "application/json";
const V3 = "/openapi/v3";

/** A year, as long as caches may be asked to keep something. */
const IMMUTABLE = "public, immutable, max-age=31536000";

/**
 * The response to a path at or below `/openapi/v2` or `/openapi/v3`, or undefined when the path is
 * none. The index of v3 gives every document an address with the hash of its content, under which
 * it may be kept for ever; an outdated hash leads to the present address.
 */
export async function openApiResponse(
  view: OpenApiView,
  path: string,
  query: URLSearchParams,
  headers: DocumentHeaders,
): Promise<OpenApiResponse | undefined> {
  if (path === "/openapi/v2") {
    const document = await mergedV2Document(view.catalog, view.remoteSpecs);
    return contentResponse(document, { version: "v2", headers, caching: {} });
  }
  if (path === V3) return indexResponse(view);
  if (!path.startsWith(`${V3}/`)) return undefined;
  const address = path.slice(V3.length + 1);
  const remote = view.remoteDocuments.get(address);
  const entry = remote ? convertedEntry(remote) : openApiV3Documents(view.catalog).get(address);
  if (entry === undefined) return sendResponse(404, {});
  const hash = query.get("hash") ?? "";
  if (hash !== "" && hash !== (await entry.hash())) {
    const location = addressOf(address, await entry.hash());
    return sendResponse(301, { "content-type": JSON_MEDIA, location });
  }
  const caching: Record<string, string> = hash === "" ? {} : { "cache-control": IMMUTABLE };
  return contentResponse(await entry.document(), { version: "v3", headers, caching });
}

/** A document that is made here from one of another server; undefined = that server has it. */
function convertedEntry({ converted, hash }: RemoteDocument) {
  if (converted === undefined) return undefined;
  const document = { json: [converted], hash };
  return { hash: () => Promise.resolve(hash), document: () => Promise.resolve(document) };
}

function sendResponse(
  status: number,
  headers: Record<string, string>,
  body: readonly Uint8Array[] = [],
): OpenApiResponse {
  return { status, headers, body, methods: "any" };
}

function addressOf(address: string, hash: string): string {
  return hash === "" ? `${V3}/${address}` : `${V3}/${address}?hash=${hash}`;
}

/** Always plain text, whatever is asked for: clients parse it as JSON without looking. */
async function indexResponse({ catalog, remoteDocuments }: OpenApiView): Promise<OpenApiResponse> {
  const addresses: [string, object][] = [];
  const add = (address: string, hash: string) =>
    addresses.push([address, { serverRelativeURL: addressOf(address, hash) }]);
  for (const [address, { hash }] of openApiV3Documents(catalog)) {
    if (!remoteDocuments.has(address)) add(address, await hash());
  }
  for (const [address, { hash }] of remoteDocuments) add(address, hash);
  addresses.sort(([a], [b]) => (a < b ? -1 : 1));
  const body = Buffer.from(JSON.stringify({ paths: Object.fromEntries(addresses) }));
  return sendResponse(200, { "content-type": "text/plain; charset=utf-8" }, [body]);
}

interface ContentRequest {
  readonly version: "v2" | "v3";
  readonly headers: DocumentHeaders;
  readonly caching: Readonly<Record<string, string>>;
}

async function contentResponse(
  document: OpenApiDocument,
  request: ContentRequest,
): Promise<OpenApiResponse> {
  const { protobuf } = document;
  const forms = { version: request.version, hasProtobuf: protobuf !== undefined };
  const media = mediaFor(request.headers["accept"], forms);
  if (media === undefined) return sendResponse(406, {});
  const tag = { etag: `"${document.hash}"`, vary: "Accept", ...request.caching };
  if (request.headers["if-none-match"] === tag.etag) return sendResponse(304, tag);
  const isProtobuf = media !== JSON_MEDIA && protobuf !== undefined;
  const body = isProtobuf ? await protobuf() : document.json;
  return sendResponse(200, { "content-type": media, ...tag }, body);
}

/**
 * The media type of the best clause; JSON if nothing is asked for. Old clients write the Protobuf
 * type with an `@`, which media types must not have; responses never do.
 */
function mediaFor(
  accept: string | undefined,
  { version, hasProtobuf }: { readonly version: "v2" | "v3"; readonly hasProtobuf: boolean },
): string | undefined {
  if (accept === undefined || accept === "") return JSON_MEDIA;
  const prefix = `application/com.github.proto-openapi.spec.${version}`;
  const protobuf = `${prefix}.v1.0+protobuf`;
  for (const clause of parseAccept(accept)) {
    if (covers(clause, JSON_MEDIA)) return JSON_MEDIA;
    if (!hasProtobuf) continue;
    if (covers(clause, protobuf) || covers(clause, `${prefix}@v1.0+protobuf`)) return protobuf;
  }
  return undefined;
}
