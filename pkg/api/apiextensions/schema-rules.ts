/** Validation of the OpenAPI schemas of CustomResourceDefinitions. */
import { isJsonObject, type Slices, sortedKeysInSlices } from "#base";
import type { DeferredCheck, Path, Problems } from "#schema";
import {
  cardinalityBelow,
  checkDefaults,
  checkRuleDefinitions,
  CompiledSchema,
  followFieldPath,
  type JsonSchema,
  RuleCosts,
  type RuleContext,
  type ValidationRule,
} from "#structural";
import { entry } from "../strategy.ts";
import { checkListItems, checkListMap, checkMergeExtensions } from "./list-rules.ts";
import { checkStructural } from "./structural-rules.ts";
import { isJsonType, jsonTypes, type Ratcheting } from "./ratcheting.ts";

/**
 * Fields allowed at the root of a schema with a status subresource -> Go's names, for the message.
 */
const allowedAtRoot: Readonly<Record<string, string>> = {
  description: "Description",
  type: "Type",
  format: "Format",
  title: "Title",
  maximum: "Maximum",
  exclusiveMaximum: "ExclusiveMaximum",
  minimum: "Minimum",
  exclusiveMinimum: "ExclusiveMinimum",
  maxLength: "MaxLength",
  minLength: "MinLength",
  pattern: "Pattern",
  maxItems: "MaxItems",
  minItems: "MinItems",
  uniqueItems: "UniqueItems",
  multipleOf: "MultipleOf",
  required: "Required",
  items: "Items",
  properties: "Properties",
  externalDocs: "ExternalDocs",
  example: "Example",
  "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
  "x-kubernetes-validations": "XValidations",
};

interface SchemaOptions {
  readonly hasStatus: boolean;
  readonly problems: Problems;
  readonly ratcheting: Ratcheting;
  /** Skips the cost limit of each single CEL rule. */
  readonly allowsCost: boolean;
}

/**
 * Validates a schema. Decoding has already limited its depth.
 * @param path path of the field that contains `openAPIV3Schema`
 */
export function checkSchema(schema: JsonSchema, path: Path, options: SchemaOptions): void {
  const { hasStatus, problems } = options;
  const openAPIV3SchemaPath = path.child("openAPIV3Schema");
  if (hasStatus) checkRootFields(schema, openAPIV3SchemaPath, problems);
  if (schema.nullable) {
    problems.forbidden(
      openAPIV3SchemaPath.child("nullable"),
      "nullable cannot be true at the root",
    );
  }
  problems.defer((found) =>
    schemaChecks(schema, openAPIV3SchemaPath, { ...options, problems: found }),
  );
}

function* schemaChecks(schema: JsonSchema, path: Path, options: SchemaOptions): Slices<void> {
  const { problems, ratcheting } = options;
  const costs = new RuleCosts();
  const isStructural =
    ratcheting.allowsNonStructural || (yield* structuralChecks(schema, path, options));
  const expressions: DeferredCheck[] | undefined =
    isStructural && !ratcheting.allowsNonStructural ? [] : undefined;
  const rules: CelContext | undefined = expressions && {
    costs,
    expressionChecks: expressions,
    limitsEachRule: !options.allowsCost,
    cardinality: 1,
    uncorrelatable: undefined,
  };
  yield;
  yield* subschemaChecks(schema, path, { problems, ratcheting, isRoot: true, rules });
  for (const check of expressions ?? []) problems.defer(check);
  problems.defer((found) => costs.check(path, found));
}

/** Keywords that no structural schema can contain; `checkSupported` reports them. */
const unsupportedKeywords = [
  "id",
  "$ref",
  "additionalItems",
  "patternProperties",
  "definitions",
  "dependencies",
] as const;

function hasUnsupportedKeyword(schema: JsonSchema): boolean {
  for (const word of unsupportedKeywords) if (schema[word]) return true;
  const { properties, items, additionalProperties, allOf, anyOf, oneOf, not } = schema;
  for (const name in properties) if (isUnsupportedSchema(properties[name])) return true;
  const below = [items, additionalProperties, not, allOf, anyOf, oneOf];
  return below.some((each) =>
    Array.isArray(each) ? each.some(isUnsupportedSchema) : isUnsupportedSchema(each),
  );
}

function isUnsupportedSchema(below: unknown): boolean {
  return isJsonObject(below) && hasUnsupportedKeyword(below as JsonSchema);
}

/** Checks that the schema is structural and its defaults are valid; returns whether both hold. */
function* structuralChecks(
  schema: JsonSchema,
  path: Path,
  { problems, ratcheting }: SchemaOptions,
): Slices<boolean> {
  if (hasUnsupportedKeyword(schema)) return false;
  yield;
  const before = problems.count;
  checkStructural(schema, path, problems);
  if (problems.count > before) return false;
  yield;
  const allowsUnknown = ratcheting.allowsUnprunedDefaults;
  checkDefaults(new CompiledSchema(schema), path, { problems, allowsUnknown });
  return problems.count === before;
}

function checkRootFields(schema: JsonSchema, path: Path, problems: Problems): void {
  for (const field of Object.keys(schema)) {
    if (field === "type") {
      if (schema.type === "object") continue;
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status ' +
        "subresource is enabled";
      return problems.invalid(path.child("type"), schema.type, detail);
    }
    if (Object.hasOwn(allowedAtRoot, field)) continue;
    const fields = Object.values(allowedAtRoot).sort().join(" ");
    const detail =
      `only [${fields}] fields are allowed at the root of the schema if the status ` +
      "subresource is enabled";
    return problems.invalid(path, schema, detail);
  }
}

/** Context of CEL rules; absent below junctors, and if the schema is not structural. */
interface CelContext extends Omit<RuleContext, "path" | "isRoot" | "problems"> {
  /** Receives checks that run after all others. */
  readonly expressionChecks: DeferredCheck[];
  readonly cardinality: number | undefined;
}

interface SchemaContext {
  /** Receives all problems except those of CEL expressions. */
  readonly problems: Problems;
  readonly ratcheting: Ratcheting;
  readonly rules: CelContext | undefined;
  readonly isRoot?: boolean;
  /** Whether the schema is within apiVersion, kind or metadata of an object. */
  readonly inMetadata?: boolean;
  /** Reason why a default is forbidden, `in top-level metadata` for example; absent = allowed. */
  readonly noDefaults?: string;
}

const metaFields = ["apiVersion", "kind", "metadata"];

function* subschemaChecks(schema: JsonSchema, path: Path, context: SchemaContext): Slices<void> {
  const { problems } = context;
  const before = problems.count;
  checkSupported(schema, path, context);
  if (schema.uniqueItems) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    problems.forbidden(path.child("uniqueItems"), detail);
  }
  const subcontext: SchemaContext = {
    ...context,
    isRoot: false,
    rules: celContextBelow(schema, context.rules),
  };
  yield* additionalPropertiesChecks(schema, path, subcontext);
  yield* propertiesChecks(
    schema,
    path,
    context.isRoot === true ? { ...subcontext, isRoot: true } : subcontext,
  );
  const nested: SchemaContext = { ...subcontext, rules: undefined };
  if (schema.not !== undefined) yield* subschemaChecks(schema.not, path.child("not"), nested);
  for (const junctor of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, each] of (schema[junctor] ?? []).entries()) {
      yield* subschemaChecks(each, path.child(junctor).index(index), nested);
    }
  }
  yield* itemsChecks(schema, path, subcontext);
  checkMergeExtensions(schema, path, problems);
  checkListMap(schema, path, problems);
  if (!context.ratcheting.allowsInvalidListItems) checkListItems(schema, path, problems);
  checkRules(schema, path, { context, isValid: problems.count === before });
}

function celContextBelow(
  schema: JsonSchema,
  rules: CelContext | undefined,
): CelContext | undefined {
  return rules && { ...rules, cardinality: cardinalityBelow(schema, rules.cardinality) };
}

/** Subschemas that are checked in one slice. */
const schemasPerSlice = 100;

function* propertiesChecks(schema: JsonSchema, path: Path, context: SchemaContext): Slices<void> {
  const subcontext: SchemaContext = { ...context, isRoot: false };
  const names = yield* sortedKeysInSlices(schema.properties ?? {});
  for (const [index, name] of names.entries()) {
    if (index % schemasPerSlice === 0) yield;
    const isMeta = context.isRoot || schema["x-kubernetes-embedded-resource"] === true;
    const propertyPath = path.child("properties").key(name);
    let below = subcontext;
    if (isMeta && metaFields.includes(name)) {
      below = { ...subcontext, inMetadata: true };
      if (context.isRoot) below = { ...below, noDefaults: `in top-level ${name}` };
    }
    yield* subschemaChecks(entry(schema.properties, name) ?? {}, propertyPath, below);
  }
}

/** Checks the expressions of rules if the schema and its subschemas are otherwise valid. */
function checkRules(
  schema: JsonSchema,
  path: Path,
  { context, isValid }: { readonly context: SchemaContext; readonly isValid: boolean },
): void {
  const validations = schema["x-kubernetes-validations"] ?? [];
  if (validations.length === 0) return;
  const { problems, rules, isRoot = false } = context;
  const before = problems.count;
  const compiled = new CompiledSchema(schema);
  validations.forEach((rule, index) => {
    const itemPath = path.child("x-kubernetes-validations").index(index);
    checkRule(rule, itemPath, { schema: compiled, problems });
  });
  if (!isValid || problems.count > before || rules === undefined) return;
  const isResource = isRoot || compiled.isEmbedded;
  rules.expressionChecks.push((found) =>
    checkRuleDefinitions(compiled, { ...rules, path, isRoot: isResource, problems: found }),
  );
}

/** Rejects keywords and types of JSON Schema that Kubernetes does not support. */
function checkSupported(schema: JsonSchema, path: Path, context: SchemaContext): void {
  const { problems, noDefaults, inMetadata, ratcheting } = context;
  const { type = "" } = schema;
  if (!isJsonType(type) && !ratcheting.allowsInvalidTypes) {
    problems.notSupportedText(path.child("type"), type, jsonTypes);
  }
  const refuse = (field: keyof JsonSchema, isPresent: boolean) => {
    if (isPresent) problems.forbidden(path.child(field), `${field} is not supported`);
  };
  if (noDefaults !== undefined && schema.default !== undefined) {
    problems.forbidden(path.child("default"), `must not be set ${noDefaults}`);
  }
  refuse("id", Boolean(schema.id));
  refuse("additionalItems", schema.additionalItems !== undefined);
  refuse("patternProperties", schema.patternProperties !== undefined);
  refuse("definitions", schema.definitions !== undefined);
  refuse("dependencies", schema.dependencies !== undefined);
  refuse("$ref", schema.$ref !== undefined);
  if (type === "null") {
    const detail = "type cannot be set to null, use nullable as an alternative";
    problems.forbidden(path.child("type"), detail);
  }
  if (Array.isArray(schema.items) && schema.items.length > 0) {
    const detail = "items must be a schema object and not an array";
    problems.forbidden(path.child("items"), detail);
  }
  if (inMetadata && schema["x-kubernetes-embedded-resource"]) {
    const extensionPath = path.child("x-kubernetes-embedded-resource");
    problems.forbidden(extensionPath, "must not be used inside of resource meta");
  }
}

function* additionalPropertiesChecks(
  schema: JsonSchema,
  path: Path,
  context: SchemaContext,
): Slices<void> {
  const { additionalProperties: values, properties } = schema;
  if (values === undefined) return;
  const additionalPropertiesPath = path.child("additionalProperties");
  if (properties !== undefined && values !== true) {
    const detail = "additionalProperties and properties are mutual exclusive";
    context.problems.forbidden(additionalPropertiesPath, detail);
  }
  if (typeof values !== "object") return;
  const below = context.inMetadata
    ? { ...context, noDefaults: "inside additionalProperties applying to object metadata" }
    : context;
  yield* subschemaChecks(values, additionalPropertiesPath, below);
}

function* itemsChecks(
  schema: JsonSchema,
  path: Path,
  { rules, ...rest }: SchemaContext,
): Slices<void> {
  const { items } = schema;
  if (!items) return;
  const itemsPath = path.child("items");
  // Only items of lists of type map can be correlated with old items, by their keys.
  const isCorrelatable = schema["x-kubernetes-list-type"] === "map";
  const uncorrelatable = rules?.uncorrelatable ?? (isCorrelatable ? undefined : path);
  const context: SchemaContext = { ...rest, rules: rules && { ...rules, uncorrelatable } };
  if ("length" in items && Array.isArray(items)) {
    for (const [index, each] of items.entries()) {
      yield* subschemaChecks(each, itemsPath.index(index), context);
    }
  } else yield* subschemaChecks(items as JsonSchema, itemsPath, context);
}

const ruleReasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** Validates a rule, except its CEL expressions. */
function checkRule(
  rule: ValidationRule,
  path: Path,
  { schema, problems }: { readonly schema: CompiledSchema; readonly problems: Problems },
): void {
  const { message = "", messageExpression = "", fieldPath = "", reason } = rule;
  const text = message.trim();
  if (rule.rule.trim() === "") problems.required(path.child("rule"), "rule is not specified");
  else if (message !== "" && text === "") {
    problems.invalid(path.child("message"), message, "must be non-empty if specified");
  } else if (hasLineBreak(text)) {
    problems.invalid(path.child("message"), message, "must not contain line breaks");
  } else if (hasLineBreak(rule.rule.trim()) && text === "") {
    const detail = "message must be specified if rule contains line breaks";
    problems.required(path.child("message"), detail);
  }
  if (messageExpression !== "" && messageExpression.trim() === "") {
    const detail = "messageExpression must be non-empty if specified";
    problems.required(path.child("messageExpression"), detail);
  }
  if (reason !== undefined && !ruleReasons.includes(reason)) {
    problems.notSupported(path.child("reason"), reason, ruleReasons);
  }
  if (fieldPath !== "" && fieldPath.trim() === "") {
    problems.invalid(path.child("fieldPath"), fieldPath, "must be non-empty if specified");
  }
  if (hasLineBreak(fieldPath)) {
    problems.invalid(path.child("fieldPath"), fieldPath, "must not contain line breaks");
  }
  if (fieldPath === "") return;
  const target = followFieldPath(fieldPath, schema, { brackets: true });
  if (typeof target !== "string") return;
  problems.invalid(path.child("fieldPath"), fieldPath, "must be a valid path");
}

/**
 * Enforced string formats, without dashes. Excludes k8s-short-name and k8s-long-name, new in 1.34:
 * Kubernetes enforces a new format one minor version later, so that a downgrade cannot encounter
 * objects that violate it.
 */
const enforcedFormats = new Set(
  (
    "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 " +
    "isbn13 creditcard ssn hexcolor rgbcolor byte password date duration datetime"
  ).split(" "),
);

/** Unrecognized string formats, without duplicates, in the order of the schema. */
export function unknownFormats(schema: JsonSchema, unknown = new Set<string>()): Set<string> {
  const { type, format } = schema;
  if (type === "string" && format && !enforcedFormats.has(format.replaceAll("-", "")))
    unknown.add(format);
  const { properties, allOf, anyOf, oneOf, items, additionalProperties, not } = schema;
  const visit = (below: unknown): void => {
    if (typeof below === "object" && below !== null) unknownFormats(below as JsonSchema, unknown);
  };
  Object.values(properties ?? {}).forEach(visit);
  allOf?.forEach(visit);
  anyOf?.forEach(visit);
  oneOf?.forEach(visit);
  if (Array.isArray(items)) items.forEach(visit);
  else visit(items);
  visit(additionalProperties);
  visit(not);
  return unknown;
}
