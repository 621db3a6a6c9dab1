import type { Catalog } from "#meta";
import type { DocumentAnswer, DocumentHeaders } from "./documents.ts";

/** The answer to a path below `/openapi/v2` or `/openapi/v3`, or undefined when the path is none. */
export function openApiAnswer(
  _catalog: Catalog,
  _path: string,
  _query: URLSearchParams,
  _headers: DocumentHeaders,
): DocumentAnswer | undefined {
  return undefined;
}
