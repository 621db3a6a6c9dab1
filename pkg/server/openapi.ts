/** Serves `/openapi/v2` and `/openapi/v3`. */
import type { Catalog } from "#meta";
import type { DocumentAnswer, DocumentHeaders } from "./documents.ts";
import { covers, parseAccept } from "./negotiation.ts";
import { type OpenApiDocument, openApiV2Document, openApiV3Documents } from "./openapi-documents.ts";

const JSON_MEDIA = "application/json";
const V3 = "/openapi/v3";

/** A year, as long as caches may be asked to keep something. */
const IMMUTABLE = "public, immutable, max-age=31536000";

/**
 * The answer to a path at or below `/openapi/v2` or `/openapi/v3`, or undefined when the path is none.
 * The index of v3 gives every document an address with the hash of its content, under which it may be
 * kept for ever; an outdated hash leads to the present address.
 */
export function openApiAnswer(
  catalog: Catalog,
  path: string,
  query: URLSearchParams,
  headers: DocumentHeaders,
): DocumentAnswer | undefined {
  if (path === "/openapi/v2") return contentAnswer(openApiV2Document(catalog), headers, {});
  if (path === V3 || path === `${V3}/`) return indexAnswer(catalog);
  if (!path.startsWith(`${V3}/`)) return undefined;
  const address = path.slice(V3.length + 1);
  const document = openApiV3Documents(catalog).get(address)?.();
  if (document === undefined) return answer(404, {});
  const hash = query.get("hash") ?? "";
  if (hash !== "" && hash !== document.hash) {
    return answer(301, { "content-type": JSON_MEDIA, location: addressOf(address, document) });
  }
  return contentAnswer(document, headers, hash === "" ? {} : { "cache-control": IMMUTABLE });
}

function answer(
  status: number,
  headers: Record<string, string>,
  body: Uint8Array = new Uint8Array(),
): DocumentAnswer {
  return { status, headers, body, methods: "any" };
}

function addressOf(address: string, document: OpenApiDocument): string {
  return `${V3}/${address}?hash=${document.hash}`;
}

/** Always plain text, whatever is asked for: clients parse it as JSON without looking. */
function indexAnswer(catalog: Catalog): DocumentAnswer {
  const entries = [...openApiV3Documents(catalog)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([address, document]) => [
      address,
      { serverRelativeURL: addressOf(address, document()) },
    ]);
  const body = Buffer.from(JSON.stringify({ paths: Object.fromEntries(entries) }));
  return answer(200, { "content-type": "text/plain; charset=utf-8" }, body);
}

function contentAnswer(
  document: OpenApiDocument,
  headers: DocumentHeaders,
  caching: Record<string, string>,
): DocumentAnswer {
  if (!acceptsJson(headers["accept"])) return answer(406, {});
  const tag = { etag: `"${document.hash}"`, vary: "Accept", ...caching };
  if (headers["if-none-match"] === tag.etag) return answer(304, tag);
  return answer(200, { "content-type": JSON_MEDIA, ...tag }, document.json);
}

function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === "") return true;
  return parseAccept(accept).some((clause) => covers(clause, JSON_MEDIA));
}
