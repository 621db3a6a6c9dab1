import { isJsonObject } from "#base";
import { parseYaml } from "#meta";
import { JsonFault, parseJson } from "#schema";

/**
 * Parses the objects of YAML documents or JSON, in their order. A List, as `kubectl get
 * --output=yaml` prints, stands for its items; empty documents are skipped.
 * @throws errors of the YAML parser
 */
export function objectsInText(text: string): readonly unknown[] {
  // A line that starts with three dashes ends a YAML document, even within a block scalar.
  const documents = text.split(/^---(?=\s|$)/m).filter((each) => each.trim() !== "");
  return documents.map(valueOf).flatMap((value) => (value === null ? [] : listedObjects(value)));
}

/** Returns the items of a List; any other value is the only item. */
export function listedObjects(value: unknown): readonly unknown[] {
  if (!isJsonObject(value)) return [value];
  const { kind, items } = value;
  const isList = typeof kind === "string" && kind.endsWith("List");
  if (!isList || !(items === null || Array.isArray(items))) return [value];
  return (items ?? []).flatMap(listedObjects);
}

/** Parses JSON, which is faster, or YAML, whose flow style also starts with a brace. */
function valueOf(document: string): unknown {
  if (document.trimStart().startsWith("{")) {
    try {
      return parseJson(document).value;
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
    }
  }
  return parseYaml(document).value;
}
