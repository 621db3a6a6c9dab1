import { assign, isJsonObject, type JsonObject } from "#base";
import { printJson } from "#meta";
import { escapedForHtml, JsonFault, parseJson } from "#schema";
import { configurationFault } from "./typed/validate.ts";
import type { FieldSet } from "./fieldpath/set.ts";
import type { Shape } from "./typed/shape.ts";
import { type Change, standing } from "./updater.ts";

/**
 * The way from kubectl's client-side apply, which keeps the last configuration in an annotation, to
 * server-side apply, and back: both go on together as long as the annotation is there.
 */
export interface LastApplied {
  /** Field manager that uses client-side and server-side apply. */
  readonly manager: string;
  /** The key of the annotation. */
  readonly annotation: string;
}

/** Annotations of an object together may not be larger. */
const mostBytes = 256 * 1024;

function annotationsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/** What kubectl may take over from its own past; undefined if there is no such past. */
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
  return standing(shape, configuration, live);
}

/** The object with the annotation renewed, if kubectl applies and the object has it. */
export function withLastApplied(
  { manager, annotation }: LastApplied,
  object: JsonObject,
  document: JsonObject,
): JsonObject {
  const annotations = annotationsOf(object);
  if (manager !== "kubectl" || !annotations[annotation]) return object;
  const text = `${escapedForHtml(printSorted(without(document, annotation)))}\n`;
  if (annotations[annotation] === text) return object;
  const { [annotation]: _before, ...rest } = annotations;
  const size = Object.entries({ ...rest, [annotation]: text }).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  const renewed = size > mostBytes ? rest : { ...rest, [annotation]: text };
  const metadata = { ...(object["metadata"] as JsonObject), annotations: renewed };
  return { ...object, metadata };
}

function without(document: JsonObject, annotation: string): JsonObject {
  const { metadata } = document;
  if (!isJsonObject(metadata) || !isJsonObject(metadata["annotations"])) return document;
  const { [annotation]: _own, ...annotations } = metadata["annotations"];
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
