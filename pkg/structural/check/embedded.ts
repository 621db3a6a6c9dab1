/** Embedded resources (`x-kubernetes-embedded-resource`). */
import { compareUtf8, isJsonObject } from "#base";
import {
  checkObjectMeta,
  goQuote,
  isDns1035Label,
  objectMeta,
  type ObjectMeta,
  printJson,
} from "#meta";
import { DecodeFault, fromJson, Path, type Problems, toJsonValue } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { inGoOrder } from "./go-order.ts";
import { maxErrors } from "../schema/limits.ts";

type JsonObject = Record<string, unknown>;

/**
 * Normalizes the metadata of embedded resources in place; returns the sorted paths of unknown fields.
 * @throws DecodeFault for malformed metadata
 */
export function coerceEmbedded(
  value: unknown,
  schema: CompiledSchema,
  path = Path.root,
): readonly string[] {
  const unknown: string[] = [];
  if (schema.hasEmbedded) coerce(value, schema, path, unknown);
  return unknown.sort(compareUtf8);
}

function coerce(value: unknown, schema: CompiledSchema, path: Path, unknown: string[]): void {
  if (schema.isEmbedded && isJsonObject(value)) coerceResource(value, path, unknown);
  forEachChild(value, schema, path, (inner, known, at) => coerce(inner, known, at, unknown));
}

function coerceResource(resource: JsonObject, path: Path, unknown: string[]): void {
  for (const name of ["apiVersion", "kind"]) {
    if (!Object.hasOwn(resource, name) || typeof resource[name] === "string") continue;
    throw invalidValue(path.child(name), resource[name], "must be a string");
  }
  if (!Object.hasOwn(resource, "metadata")) return;
  const metadataPath = path.child("metadata");
  const { metadata } = resource;
  const found: string[] = [];
  const decoded = decodeMeta(metadata, found);
  if (typeof decoded === "string") throw invalidValue(metadataPath, metadata, decoded);
  if (unknown.length < maxErrors) {
    unknown.push(...found.map((field) => `${metadataPath.toString()}.${field}`));
  }
  const encoded = toJsonValue(objectMeta, decoded) as JsonObject;
  if (encoded["creationTimestamp"] === null) delete encoded["creationTimestamp"];
  resource["metadata"] = encoded;
}

/** The decoded metadata, or the error message. */
function decodeMeta(metadata: unknown, unknown?: string[]): ObjectMeta | string {
  // Go decodes null as an empty struct.
  if (metadata === null) return {};
  try {
    return fromJson(objectMeta, metadata, unknown === undefined ? {} : { unknown });
  } catch (fault) {
    if (fault instanceof DecodeFault) return fault.message;
    throw fault;
  }
}

function invalidValue(path: Path, value: unknown, detail: string): DecodeFault {
  const text = typeof value === "string" ? goQuote(value) : printJson(inGoOrder(value));
  return new DecodeFault(`${path.toString()}: Invalid value: ${text}: ${detail}`);
}

/** Validates apiVersion, kind and metadata of embedded resources. */
export function checkEmbedded(
  value: unknown,
  schema: CompiledSchema,
  path: Path,
  problems: Problems,
): void {
  if (!schema.hasEmbedded || problems.list.length >= maxErrors) return;
  if (schema.isEmbedded && isJsonObject(value)) checkResource(value, path, problems);
  forEachChild(value, schema, path, (inner, known, at) =>
    checkEmbedded(inner, known, at, problems),
  );
}

function checkResource(resource: JsonObject, path: Path, problems: Problems): void {
  for (const name of ["apiVersion", "kind"]) {
    if (!Object.hasOwn(resource, name)) problems.required(path.child(name));
  }
  checkText("apiVersion", (text, at) => {
    if (text.split("/").length <= 2) return;
    problems.invalid(at, text, `unexpected GroupVersion string: ${text}`);
  });
  checkText("kind", (text, at) => {
    const messages = isDns1035Label(text.toLowerCase());
    if (messages.length === 0) return;
    const detail = `may have mixed case, but should otherwise match: ${messages.join(",")}`;
    problems.invalid(at, text, detail);
  });
  if (!Object.hasOwn(resource, "metadata")) return;
  const metadataPath = path.child("metadata");
  const decoded = decodeMeta(resource["metadata"]);
  if (typeof decoded === "string")
    problems.invalid(metadataPath, inGoOrder(resource["metadata"]), decoded);
  else {
    // An embedded resource needs no name; "fakename" is Kubernetes' substitute.
    const meta = { ...decoded, name: decoded.name || "fakename" };
    const namespaced = Boolean(decoded.namespace);
    checkObjectMeta(meta, { name: "path-segment", namespaced }, metadataPath, problems);
  }

  function checkText(name: string, check: (text: string, at: Path) => void): void {
    if (!Object.hasOwn(resource, name)) return;
    const text = resource[name];
    const fieldPath = path.child(name);
    if (typeof text !== "string") problems.invalid(fieldPath, text, "must be a string");
    else if (text === "") problems.invalid(fieldPath, text, "must not be empty");
    else check(text, fieldPath);
  }
}

/** Visits child values whose schemas contain embedded resources. */
function forEachChild(
  value: unknown,
  schema: CompiledSchema,
  path: Path,
  visit: (inner: unknown, schema: CompiledSchema, path: Path) => void,
): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items?.hasEmbedded !== true) return;
    for (const [index, item] of value.entries()) visit(item, items, path.index(index));
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const property = schema.property(name);
      const known = property ?? schema.values;
      if (known?.hasEmbedded !== true) continue;
      visit(value[name], known, property === undefined ? path.key(name) : path.child(name));
    }
  }
}
