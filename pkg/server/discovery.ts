import type { Catalog } from "#meta";
import type { DocumentAnswer } from "./documents.ts";

/**
 * The answer to a discovery path (`/`, `/version`, `/api…`, `/apis…`), or undefined when the path is none
 * or names a group or version that is not served.
 */
export function discoveryAnswer(
  _catalog: Catalog,
  _path: string,
  _accept: string | undefined,
  _ifNoneMatch: string | undefined,
): DocumentAnswer | undefined {
  return undefined;
}
