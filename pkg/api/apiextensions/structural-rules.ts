/**
 * Validation of structural schemas: the type of every field is specified outside allOf, anyOf,
 * oneOf and not, which pruning and defaulting rely on.
 */
import { compareUtf8, isJsonObject, printJson } from "#base";
import { type FieldProblem, type Path, Problems } from "#schema";
import { regexpFault } from "./go-regexp.ts";
import type { JsonSchema } from "#structural";
import { entry } from "../strategy.ts";

type Level = "root" | "item" | "field";

/** Reports problems sorted by their texts, as Kubernetes does. */
export function checkStructural(schema: JsonSchema, path: Path, problems: Problems): void {
  const found = new Problems();
  checkInvariants(schema, { level: "root", path, problems: found });
  for (const problem of [...found.list].sort((a, b) =>
    compareUtf8(problemText(a), problemText(b)),
  )) {
    problems.add(problem);
  }
}

const problemTypeTexts: Readonly<Partial<Record<FieldProblem["type"], string>>> = {
  FieldValueRequired: "Required value",
  FieldValueForbidden: "Forbidden",
  FieldValueInvalid: "Invalid value",
};

function problemText({ type, field, value, detail }: FieldProblem): string {
  const shown = value === undefined ? "" : `: ${printJson(value)}`;
  return `${field}: ${problemTypeTexts[type] ?? type}${shown}: ${detail}`;
}

interface SchemaContext {
  readonly level: Level;
  readonly path: Path;
  readonly problems: Problems;
}

const preserveField = "x-kubernetes-preserve-unknown-fields";
const embeddedField = "x-kubernetes-embedded-resource";
const intOrStringField = "x-kubernetes-int-or-string";

function checkInvariants(schema: JsonSchema, context: SchemaContext): void {
  const { path, problems, level } = context;
  const { type = "", items, properties = {}, additionalProperties } = schema;
  if (type === "array" && !items) problems.required(path.child("items"), "must be specified");
  if (isSchema(items)) checkInvariants(items, contextAt(context, path.child("items"), "item"));
  for (const name of Object.keys(properties)) {
    const each = properties[name] as JsonSchema;
    checkInvariants(each, contextAt(context, path.child("properties").key(name), "field"));
  }
  if (additionalProperties !== undefined) {
    const below = path.child("additionalProperties");
    if (level === "root") problems.forbidden(below, "must not be used at the root");
    if (isSchema(additionalProperties)) {
      checkInvariants(additionalProperties, contextAt(context, below, "field"));
    }
  }
  checkExtensions(schema, context);
  checkJunctors(schema, context, {
    skipsAnyOf: isIntOrString(schema.anyOf),
    skipsAnyOfInFirstAllOf: isIntOrString(schema.allOf?.[0]?.anyOf),
  });
  checkType(schema, context);
  checkObjectFields(schema, context);
}

function contextAt(context: SchemaContext, path: Path, level: Level): SchemaContext {
  return { ...context, path, level };
}

function isSchema(value: unknown): value is JsonSchema {
  return isJsonObject(value);
}

function checkExtensions(schema: JsonSchema, { path, problems }: SchemaContext): void {
  if (!schema[intOrStringField]) return;
  for (const name of [preserveField, embeddedField] as const) {
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
  const context = path.child("type");
  const isEmbedded = schema[embeddedField] === true;
  if (isEmbedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    if (type === "") problems.required(context, detail);
    else problems.invalid(context, type, detail);
  } else if (type === "" && !schema[intOrStringField] && !schema[preserveField]) {
    problems.required(context, missingType[level]);
  }
  if (isEmbedded && schema.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    problems.forbidden(path.child("additionalProperties"), detail);
  }
  if (level === "root" && type !== "" && type !== "object") {
    problems.invalid(context, type, "must be object at the root");
  }
}

/** Validates what a schema specifies for apiVersion, kind and metadata of objects. */
function checkObjectFields(schema: JsonSchema, { path, problems, level }: SchemaContext): void {
  const { properties = {} } = schema;
  const isObject = level === "root" || schema[embeddedField] === true;
  const context = path.child("properties");
  for (const name of ["kind", "apiVersion"]) {
    const field = entry(properties, name);
    if (!isObject || field === undefined || field.type === "string") continue;
    problems.invalid(context.key(name).child("type"), field.type ?? "", "must be string");
  }
  const metadata = entry(properties, "metadata");
  if (metadata !== undefined) {
    if (isObject && metadata.type !== "object") {
      const at = context.key("metadata").child("type");
      problems.invalid(at, metadata.type ?? "", "must be object");
    }
    if (level === "root" && !restrictsOnlyNames(metadata)) {
      const detail =
        "must not specify anything other than name and generateName, but metadata is implicitly " +
        "specified";
      problems.forbidden(context.key("metadata"), detail);
    }
  }
  if (schema[embeddedField] && !schema[preserveField] && Object.keys(properties).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without " +
      "x-kubernetes-preserve-unknown-fields";
    problems.required(context, detail);
  }
}

function restrictsOnlyNames(schema: JsonSchema): boolean {
  const names = Object.keys(schema.properties ?? {});
  const areNames = names.every((name) => name === "name" || name === "generateName");
  const allowed = ["type", "default", "properties"];
  return areNames && Object.keys(schema).every((field) => allowed.includes(field));
}

/**
 * Whether anyOf is exactly integer and string, the only types that x-kubernetes-int-or-string
 * allows inside a junctor.
 */
function isIntOrString(anyOf: readonly JsonSchema[] | undefined): boolean {
  if (anyOf?.length !== 2) return false;
  return ["integer", "string"].every((type, index) => {
    const each = anyOf[index] ?? {};
    return each.type === type && Object.keys(each).length === 1;
  });
}

interface SkippedJunctors {
  /** Skips anyOf of the schema, see `isIntOrString`. */
  readonly skipsAnyOf: boolean;
  /** Skips anyOf of the first allOf of the schema. */
  readonly skipsAnyOfInFirstAllOf: boolean;
}

const noSkips: SkippedJunctors = { skipsAnyOf: false, skipsAnyOfInFirstAllOf: false };

function checkJunctors(
  schema: JsonSchema,
  context: SchemaContext,
  { skipsAnyOf, skipsAnyOfInFirstAllOf: skipsFirst }: SkippedJunctors,
): void {
  const { path, problems } = context;
  const nested = (each: JsonSchema, below: Path, skips = noSkips) =>
    checkNested(each, { ...context, path: below }, skips);
  if (!skipsAnyOf) {
    schema.anyOf?.forEach((each, index) => nested(each, path.child("anyOf").index(index)));
  }
  schema.allOf?.forEach((each, index) => {
    const skips = { ...noSkips, skipsAnyOf: skipsFirst && index === 0 };
    nested(each, path.child("allOf").index(index), skips);
  });
  schema.oneOf?.forEach((each, index) => nested(each, path.child("oneOf").index(index)));
  if (schema.not !== undefined) nested(schema.not, path.child("not"));
  const fault = schema.pattern ? regexpFault(schema.pattern) : undefined;
  if (fault === undefined) return;
  const detail = `must be a valid regular expression, but isn't: ${fault}`;
  problems.invalid(path.child("pattern"), schema.pattern, detail);
}

/** Fields forbidden within allOf, anyOf, oneOf and not -> message. */
const forbiddenInJunctors = [
  ["type", "must be empty to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["default", "must be undefined to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["nullable", "must be false to be structural"],
  ["externalDocs", "must be undefined to be structural"],
  [preserveField, "must be false to be structural"],
  [embeddedField, "must be false to be structural"],
  [intOrStringField, "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"],
] as const;

function checkNested(schema: JsonSchema, context: SchemaContext, skips: SkippedJunctors): void {
  const { path, problems } = context;
  checkJunctors(schema, context, skips);
  if (isSchema(schema.items)) {
    checkNested(schema.items, { ...context, path: path.child("items") }, noSkips);
  }
  for (const [name, each] of Object.entries(schema.properties ?? {})) {
    checkNested(each, contextAt(context, path.child("properties").key(name), "field"), noSkips);
  }
  for (const [field, detail] of forbiddenInJunctors) {
    if (schema[field] !== undefined && schema[field] !== false) {
      problems.forbidden(path.child(field), detail);
    }
  }
  if (entry(schema.properties, "metadata") !== undefined) {
    const metadata = path.child("properties").key("metadata");
    problems.forbidden(metadata, "must not be specified in a nested context");
  }
}
