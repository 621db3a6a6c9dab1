import { assign, isJsonObject, type JsonObject } from "#base";
import { printJson } from "#meta";
import { escapedForHtml, JsonFault, parseJson } from "#schema";
import { configurationFault } from "./typed/validate.ts";
import type { FieldSet } from "./fieldpath/set.ts";
import type { Shape } from "./typed/shape.ts";
import { type Change, unchangedFields } from "./updater.ts";

/**
 * Migration between kubectl's client-side apply, which stores the last configuration in an annotation,
 * and server-side apply: while the annotation exists, an apply of kubectl maintains it, so that both
 * ways of applying can alternate.
 */
export interface LastApplied {
  /** The field manager of the request; only kubectl's applies are affected. */
  readonly manager: string;
  /** The key of the annotation. */
  readonly annotation: string;
}

/** Limit on the total size of an object's annotations. */
const maxAnnotationBytes = 256 * 1024;

function annotationsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/**
 * The fields that an apply of kubectl may take from other managers without a conflict: those that its
 * client-side apply set and that still have that value. Undefined without a valid annotation.
 */
export function allowedByLastApplied(
  change: Change & LastApplied,
  live: JsonObject,
): FieldSet | undefined {
  const text = annotationsOf(live)[change.annotation];
  if (typeof text !== "string" || text === "") return undefined;
  let configuration: unknown;
  try {
    configuration = parseJson(text).value;
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
  if (!isJsonObject(configuration)) return undefined;
  if (configuration["apiVersion"] !== change.apiVersion) return undefined;
  const shape = change.versions.shapeOf(change.apiVersion) as Shape;
  if (configurationFault(shape, configuration) !== "") return undefined;
  return unchangedFields(shape, configuration, live);
}

/**
 * The object with the annotation set to the applied document, if the manager is kubectl and the object
 * has the annotation. Removes an annotation that would exceed the size limit.
 */
export function withLastApplied(
  { manager, annotation }: LastApplied,
  object: JsonObject,
  document: JsonObject,
): JsonObject {
  const annotations = annotationsOf(object);
  if (manager !== "kubectl" || !annotations[annotation]) return object;
  const text = `${escapedForHtml(printSorted(withoutAnnotation(document, annotation)))}\n`;
  if (annotations[annotation] === text) return object;
  const { [annotation]: _before, ...others } = annotations;
  const updated = { ...others, [annotation]: text };
  const size = Object.entries(updated).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  const metadata = {
    ...(object["metadata"] as JsonObject),
    annotations: size > maxAnnotationBytes ? others : updated,
  };
  return { ...object, metadata };
}

function withoutAnnotation(document: JsonObject, annotation: string): JsonObject {
  const { metadata } = document;
  if (!isJsonObject(metadata) || !isJsonObject(metadata["annotations"])) return document;
  const { [annotation]: _removed, ...annotations } = metadata["annotations"];
  return { ...document, metadata: { ...metadata, annotations } };
}

/** Compact JSON with the keys of all objects sorted. */
function printSorted(value: unknown): string {
  return printJson(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  const copy: Record<string, unknown> = {};
  for (const key of keys) assign(copy, key, sorted(value[key]));
  return copy;
}
