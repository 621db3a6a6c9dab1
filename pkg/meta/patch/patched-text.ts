/**
 * The text of a patched document in error messages. kube-apiserver's JSON patch library prints the
 * objects along patched paths with sorted keys, and all others in their original order.
 */
import { printSortedJson } from "#base";
import { isJsonObject } from "./patch-fault.ts";

/** `patch`: the operations of a JSON patch, or the object of a merge patch. */
export function patchedText(document: unknown, patch: unknown): string {
  const sorted = new Set<unknown>([document]);
  if (Array.isArray(patch)) for (const operation of patch) addPaths(document, operation, sorted);
  else addMerged(document, patch, sorted);
  return printSortedJson(document, (object) => sorted.has(object));
}

/** The containers of what an operation names. */
function addPaths(document: unknown, operation: unknown, found: Set<unknown>): void {
  const { path, from } = (operation ?? {}) as { readonly path?: unknown; readonly from?: unknown };
  for (const pointer of [path, from]) {
    if (typeof pointer !== "string") continue;
    let at: any = document;
    for (const token of pointer.split("/").slice(1, -1)) {
      at = at?.[token.replaceAll("~1", "/").replaceAll("~0", "~")];
      if (typeof at !== "object" || at === null) break;
      found.add(at);
    }
  }
}

/** Objects that were merged, and all that lie in lists of the patch. */
function addMerged(document: unknown, patch: unknown, found: Set<unknown>): void {
  if (Array.isArray(document) && Array.isArray(patch)) {
    for (const each of document) addMerged(each, each, found);
  } else if (isJsonObject(document) && isJsonObject(patch)) {
    found.add(document);
    for (const [key, value] of Object.entries(patch)) addMerged(document[key], value, found);
  }
}
