/**
 * Structural schemas: every field has its type outside of allOf, anyOf, oneOf and not, so that
 * unknown fields can be dropped and defaults filled in.
 */
import { compareUtf8, isJsonObject } from "#base";
import { type FieldProblem, type Path, Problems } from "#schema";
import { regexpFault } from "./go-regexp.ts";
import type { JsonSchema } from "#structural";
import { entry } from "../strategy.ts";

type Level = "root" | "item" | "field";

/** Told in the order of their texts, as Kubernetes sorts them. */
export function checkStructural(schema: JsonSchema, path: Path, problems: Problems): void {
  const found = new Problems();
  checkInvariants(schema, { level: "root", path, problems: found });
  for (const problem of [...found.list].sort((a, b) => compareUtf8(text(a), text(b)))) {
    problems.add(problem);
  }
}

const words: Readonly<Partial<Record<FieldProblem["type"], string>>> = {
  FieldValueRequired: "Required value",
  FieldValueForbidden: "Forbidden",
  FieldValueInvalid: "Invalid value",
};

function text({ type, field, value, detail }: FieldProblem): string {
  const shown = value === undefined ? "" : `: ${JSON.stringify(value)}`;
  return `${field}: ${words[type] ?? type}${shown}: ${detail}`;
}

interface SchemaContext {
  readonly level: Level;
  readonly path: Path;
  readonly problems: Problems;
}

const PRESERVE = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED = "x-kubernetes-embedded-resource";
const INT_OR_STRING = "x-kubernetes-int-or-string";

function checkInvariants(schema: JsonSchema, place: SchemaContext): void {
  const { path, problems, level } = place;
  const { type = "", items, properties = {}, additionalProperties } = schema;
  if (type === "array" && !items) problems.required(path.child("items"), "must be specified");
  if (isSchema(items)) checkInvariants(items, at(place, path.child("items"), "item"));
  for (const name of Object.keys(properties)) {
    const each = properties[name] as JsonSchema;
    checkInvariants(each, at(place, path.child("properties").key(name), "field"));
  }
  if (additionalProperties !== undefined) {
    const below = path.child("additionalProperties");
    if (level === "root") problems.forbidden(below, "must not be used at the root");
    if (isSchema(additionalProperties)) {
      checkInvariants(additionalProperties, at(place, below, "field"));
    }
  }
  checkExtensions(schema, place);
  checkJunctors(schema, place, {
    skipsAnyOf: isIntOrString(schema.anyOf),
    skipsFirst: isIntOrString(schema.allOf?.[0]?.anyOf),
  });
  checkType(schema, place);
  checkObjectFields(schema, place);
}

function at(place: SchemaContext, path: Path, level: Level): SchemaContext {
  return { ...place, path, level };
}

function isSchema(value: unknown): value is JsonSchema {
  return isJsonObject(value);
}

function checkExtensions(schema: JsonSchema, { path, problems }: SchemaContext): void {
  if (!schema[INT_OR_STRING]) return;
  for (const name of [PRESERVE, EMBEDDED] as const) {
    if (!schema[name]) continue;
    const detail = "must be false if x-kubernetes-int-or-string is true";
    problems.invalid(path.child(name), true, detail);
  }
}

const missingType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function checkType(schema: JsonSchema, { path, problems, level }: SchemaContext): void {
  const { type = "" } = schema;
  const place = path.child("type");
  const isEmbedded = schema[EMBEDDED] === true;
  if (isEmbedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    if (type === "") problems.required(place, detail);
    else problems.invalid(place, type, detail);
  } else if (type === "" && !schema[INT_OR_STRING] && !schema[PRESERVE]) {
    problems.required(place, missingType[level]);
  }
  if (isEmbedded && schema.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    problems.forbidden(path.child("additionalProperties"), detail);
  }
  if (level === "root" && type !== "" && type !== "object") {
    problems.invalid(place, type, "must be object at the root");
  }
}

/** apiVersion, kind and metadata of objects are what they are everywhere. */
function checkObjectFields(schema: JsonSchema, { path, problems, level }: SchemaContext): void {
  const { properties = {} } = schema;
  const isObject = level === "root" || schema[EMBEDDED] === true;
  const place = path.child("properties");
  for (const name of ["kind", "apiVersion"]) {
    const field = entry(properties, name);
    if (!isObject || field === undefined || field.type === "string") continue;
    problems.invalid(place.key(name).child("type"), field.type ?? "", "must be string");
  }
  const metadata = entry(properties, "metadata");
  if (metadata !== undefined) {
    if (isObject && metadata.type !== "object") {
      const at = place.key("metadata").child("type");
      problems.invalid(at, metadata.type ?? "", "must be object");
    }
    if (level === "root" && !restrictsOnlyNames(metadata)) {
      const detail =
        "must not specify anything other than name and generateName, but metadata is implicitly " +
        "specified";
      problems.forbidden(place.key("metadata"), detail);
    }
  }
  if (schema[EMBEDDED] && !schema[PRESERVE] && Object.keys(properties).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without " +
      "x-kubernetes-preserve-unknown-fields";
    problems.required(place, detail);
  }
}

function restrictsOnlyNames(schema: JsonSchema): boolean {
  const names = Object.keys(schema.properties ?? {});
  const areNames = names.every((name) => name === "name" || name === "generateName");
  const allowed = ["type", "default", "properties"];
  return areNames && Object.keys(schema).every((field) => allowed.includes(field));
}

/** The one pattern that may name types inside of anyOf, for the sake of old schemas. */
function isIntOrString(anyOf: readonly JsonSchema[] | undefined): boolean {
  if (anyOf?.length !== 2) return false;
  return ["integer", "string"].every((type, index) => {
    const each = anyOf[index] ?? {};
    return each.type === type && Object.keys(each).length === 1;
  });
}

interface Skips {
  /** The anyOf of this schema is the pattern above. */
  readonly skipsAnyOf: boolean;
  /** That of its first allOf is. */
  readonly skipsFirst: boolean;
}

const none: Skips = { skipsAnyOf: false, skipsFirst: false };

function checkJunctors(
  schema: JsonSchema,
  place: SchemaContext,
  { skipsAnyOf, skipsFirst }: Skips,
): void {
  const { path, problems } = place;
  const nested = (each: JsonSchema, below: Path, skips = none) =>
    checkNested(each, { ...place, path: below }, skips);
  if (!skipsAnyOf) {
    schema.anyOf?.forEach((each, index) => nested(each, path.child("anyOf").index(index)));
  }
  schema.allOf?.forEach((each, index) => {
    const skips = { ...none, skipsAnyOf: skipsFirst && index === 0 };
    nested(each, path.child("allOf").index(index), skips);
  });
  schema.oneOf?.forEach((each, index) => nested(each, path.child("oneOf").index(index)));
  if (schema.not !== undefined) nested(schema.not, path.child("not"));
  const fault = schema.pattern ? regexpFault(schema.pattern) : undefined;
  if (fault === undefined) return;
  const detail = `must be a valid regular expression, but isn't: ${fault}`;
  problems.invalid(path.child("pattern"), schema.pattern, detail);
}

/** Fields that are forbidden in schemas within allOf, anyOf, oneOf or not, with their messages. */
const forbiddenBelow = [
  ["type", "must be empty to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["default", "must be undefined to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["nullable", "must be false to be structural"],
  ["externalDocs", "must be undefined to be structural"],
  [PRESERVE, "must be false to be structural"],
  [EMBEDDED, "must be false to be structural"],
  [INT_OR_STRING, "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"],
] as const;

function checkNested(schema: JsonSchema, place: SchemaContext, skips: Skips): void {
  const { path, problems } = place;
  checkJunctors(schema, place, skips);
  if (isSchema(schema.items)) {
    checkNested(schema.items, { ...place, path: path.child("items") }, none);
  }
  for (const [name, each] of Object.entries(schema.properties ?? {})) {
    checkNested(each, at(place, path.child("properties").key(name), "field"), none);
  }
  for (const [field, detail] of forbiddenBelow) {
    if (schema[field] !== undefined && schema[field] !== false) {
      problems.forbidden(path.child(field), detail);
    }
  }
  if (entry(schema.properties, "metadata") !== undefined) {
    const metadata = path.child("properties").key("metadata");
    problems.forbidden(metadata, "must not be specified in a nested context");
  }
}
