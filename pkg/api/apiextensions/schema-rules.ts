/** Which JSON schemas custom resources may have. */
import { isJsonObject, type Slices } from "#base";
import type { DeferredCheck, Path, Problems } from "#schema";
import {
  cardinalityBelow,
  checkDefaults,
  checkRuleDefinitions,
  CompiledSchema,
  followFieldPath,
  type JsonSchema,
  RuleCosts,
  type RulePlace,
  type ValidationRule,
} from "#structural";
import { entry, sortedKeys } from "../strategy.ts";
import { checkListItems, checkListMap, checkMergeExtensions } from "./list-rules.ts";
import { checkStructural } from "./structural-rules.ts";
import { isJsonType, jsonTypes, type Tolerance } from "./tolerance.ts";

/** Fields that the root may have when there is a status endpoint, by the names of Go's struct. */
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

/** Options of the validation of a schema. */
interface SchemaOptions {
  readonly hasStatus: boolean;
  readonly problems: Problems;
  readonly tolerance: Tolerance;
  /** Rules may each cost whatever they do. */
  readonly toleratesCosts: boolean;
}

/** `path` is that of what holds `openAPIV3Schema`. Decoding has bounded how deep schemas go. */
export function checkSchema(schema: JsonSchema, path: Path, options: SchemaOptions): void {
  const { hasStatus, problems } = options;
  const place = path.child("openAPIV3Schema");
  if (hasStatus) checkRootFields(schema, place, problems);
  if (schema.nullable) {
    problems.forbidden(place.child("nullable"), "nullable cannot be true at the root");
  }
  problems.defer((found) => schemaChecks(schema, place, { ...options, problems: found }));
}

function* schemaChecks(schema: JsonSchema, place: Path, options: SchemaOptions): Slices<void> {
  const { problems, tolerance } = options;
  const costs = new RuleCosts();
  const isSound = tolerance.nonStructural || (yield* shapeChecks(schema, place, options));
  const ruleChecks: DeferredCheck[] | undefined =
    isSound && !tolerance.nonStructural ? [] : undefined;
  const rules: RuleScope | undefined = ruleChecks && {
    costs,
    ruleChecks,
    limitsEachRule: !options.toleratesCosts,
    cardinality: 1,
    uncorrelatable: undefined,
  };
  yield;
  checkBelow(schema, place, { problems, tolerance, isRoot: true, rules });
  for (const check of ruleChecks ?? []) problems.defer(check);
  problems.defer((found) => costs.check(place, found));
}

/** Words without which no structural schema can be made; `checkSupported` reports them. */
const unsupportedWords = [
  "id",
  "$ref",
  "additionalItems",
  "patternProperties",
  "definitions",
  "dependencies",
] as const;

function hasUnsupportedWord(schema: JsonSchema): boolean {
  for (const word of unsupportedWords) if (schema[word]) return true;
  const { properties, items, additionalProperties, allOf, anyOf, oneOf, not } = schema;
  for (const name in properties) if (isUnsupported(properties[name])) return true;
  const below = [items, additionalProperties, not, allOf, anyOf, oneOf];
  return below.some((each) =>
    Array.isArray(each) ? each.some(isUnsupported) : isUnsupported(each),
  );
}

function isUnsupported(below: unknown): boolean {
  return isJsonObject(below) && hasUnsupportedWord(below as JsonSchema);
}

/** Checks that the schema is structural and its defaults are valid; CEL rules are checked only then. */
function* shapeChecks(
  schema: JsonSchema,
  path: Path,
  { problems, tolerance }: SchemaOptions,
): Slices<boolean> {
  if (hasUnsupportedWord(schema)) return false;
  yield;
  const before = problems.count;
  checkStructural(schema, path, problems);
  if (problems.count > before) return false;
  yield;
  const allowsUnknown = tolerance.unprunedDefaults;
  checkDefaults(new CompiledSchema(schema), path, { problems, allowsUnknown });
  return problems.count === before;
}

function checkRootFields(schema: JsonSchema, place: Path, problems: Problems): void {
  for (const field of Object.keys(schema)) {
    if (field === "type") {
      if (schema.type === "object") continue;
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status ' +
        "subresource is enabled";
      return problems.invalid(place.child("type"), schema.type, detail);
    }
    if (Object.hasOwn(allowedAtRoot, field)) continue;
    const fields = Object.values(allowedAtRoot).sort().join(" ");
    const detail =
      `only [${fields}] fields are allowed at the root of the schema if the status ` +
      "subresource is enabled";
    return problems.invalid(place, schema, detail);
  }
}

/** Context of CEL rules; absent where none are allowed or none can be checked. */
interface RuleScope extends Omit<RulePlace, "path" | "isRoot" | "problems"> {
  /** Receives checks that run after all others. */
  readonly ruleChecks: DeferredCheck[];
  readonly cardinality: number | undefined;
}

interface Context {
  /** Collects all problems except those of the expressions of rules. */
  readonly problems: Problems;
  readonly tolerance: Tolerance;
  readonly rules: RuleScope | undefined;
  readonly isRoot?: boolean;
  /** Inside of apiVersion, kind or metadata of an object. */
  readonly inMetadata?: boolean;
  /** Why there may be no default here, as in `in top-level metadata`. */
  readonly noDefaults?: string;
}

const metaFields = ["apiVersion", "kind", "metadata"];

function checkBelow(schema: JsonSchema, path: Path, context: Context): void {
  const { problems } = context;
  const before = problems.count;
  checkSupported(schema, path, context);
  if (schema.uniqueItems) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    problems.forbidden(path.child("uniqueItems"), detail);
  }
  const inner: Context = { ...context, isRoot: false, rules: scopeBelow(schema, context.rules) };
  checkAdditionalProperties(schema, path, inner);
  checkProperties(schema, path, context.isRoot === true ? { ...inner, isRoot: true } : inner);
  const nested: Context = { ...inner, rules: undefined };
  if (schema.not !== undefined) checkBelow(schema.not, path.child("not"), nested);
  for (const junctor of ["allOf", "oneOf", "anyOf"] as const) {
    schema[junctor]?.forEach((each, index) =>
      checkBelow(each, path.child(junctor).index(index), nested),
    );
  }
  checkItems(schema, path, inner);
  checkMergeExtensions(schema, path, problems);
  checkListMap(schema, path, problems);
  if (!context.tolerance.listItems) checkListItems(schema, path, problems);
  checkRules(schema, path, { context, isSound: problems.count === before });
}

function scopeBelow(schema: JsonSchema, rules: RuleScope | undefined): RuleScope | undefined {
  return rules && { ...rules, cardinality: cardinalityBelow(schema, rules.cardinality) };
}

/** `context` is that of the properties, but for whether the schema is the root. */
function checkProperties(schema: JsonSchema, path: Path, context: Context): void {
  const inner: Context = { ...context, isRoot: false };
  for (const name of sortedKeys(schema.properties)) {
    const isMeta = context.isRoot || schema["x-kubernetes-embedded-resource"] === true;
    const property = path.child("properties").key(name);
    let below = inner;
    if (isMeta && metaFields.includes(name)) {
      below = { ...inner, inMetadata: true };
      if (context.isRoot) below = { ...below, noDefaults: `in top-level ${name}` };
    }
    checkBelow(entry(schema.properties, name) ?? {}, property, below);
  }
}

/** Checks the expressions of rules if the schema and its subschemas are otherwise valid. */
function checkRules(
  schema: JsonSchema,
  path: Path,
  { context, isSound }: { readonly context: Context; readonly isSound: boolean },
): void {
  const all = schema["x-kubernetes-validations"] ?? [];
  if (all.length === 0) return;
  const { problems, rules, isRoot = false } = context;
  const before = problems.count;
  const compiled = new CompiledSchema(schema);
  all.forEach((rule, index) => {
    const place = path.child("x-kubernetes-validations").index(index);
    checkRule(rule, place, { schema: compiled, problems });
  });
  if (!isSound || problems.count > before || rules === undefined) return;
  const isResource = isRoot || compiled.isEmbedded;
  rules.ruleChecks.push((found) =>
    checkRuleDefinitions(compiled, { ...rules, path, isRoot: isResource, problems: found }),
  );
}

/** Words of JSON Schema that Kubernetes does not take. */
function checkSupported(schema: JsonSchema, path: Path, context: Context): void {
  const { problems, noDefaults, inMetadata, tolerance } = context;
  const { type = "" } = schema;
  if (!isJsonType(type) && !tolerance.types) {
    problems.notSupported(path.child("type"), type, jsonTypes);
  }
  const refuse = (field: keyof JsonSchema, isThere: boolean) => {
    if (isThere) problems.forbidden(path.child(field), `${field} is not supported`);
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
    const place = path.child("x-kubernetes-embedded-resource");
    problems.forbidden(place, "must not be used inside of resource meta");
  }
}

function checkAdditionalProperties(schema: JsonSchema, path: Path, context: Context): void {
  const { additionalProperties: values, properties } = schema;
  if (values === undefined) return;
  const place = path.child("additionalProperties");
  if (properties !== undefined && values !== true) {
    const detail = "additionalProperties and properties are mutual exclusive";
    context.problems.forbidden(place, detail);
  }
  if (typeof values !== "object") return;
  const below = context.inMetadata
    ? { ...context, noDefaults: "inside additionalProperties applying to object metadata" }
    : context;
  checkBelow(values, place, below);
}

function checkItems(schema: JsonSchema, path: Path, { rules, ...rest }: Context): void {
  const { items } = schema;
  if (!items) return;
  const place = path.child("items");
  // Items of other lists cannot be correlated with old ones.
  const isRelated = schema["x-kubernetes-list-type"] === "map";
  const uncorrelatable = rules?.uncorrelatable ?? (isRelated ? undefined : path);
  const context: Context = { ...rest, rules: rules && { ...rules, uncorrelatable } };
  if ("length" in items && Array.isArray(items)) {
    items.forEach((each, index) => checkBelow(each, place.index(index), context));
  } else checkBelow(items as JsonSchema, place, context);
}

const reasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** The shape of a rule; its expressions are another matter. */
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
  if (reason !== undefined && !reasons.includes(reason)) {
    problems.notSupported(path.child("reason"), reason, reasons);
  }
  if (fieldPath !== "" && fieldPath.trim() === "") {
    problems.invalid(path.child("fieldPath"), fieldPath, "must be non-empty if specified");
  }
  if (hasLineBreak(fieldPath)) {
    problems.invalid(path.child("fieldPath"), fieldPath, "must not contain line breaks");
  }
  if (fieldPath === "") return;
  const found = followFieldPath(fieldPath, schema, { brackets: true });
  if (typeof found !== "string") return;
  problems.invalid(path.child("fieldPath"), fieldPath, "must be a valid path");
}

/**
 * Without dashes. k8s-short-name and k8s-long-name, which are new in 1.34, are missing: Kubernetes
 * enforces them one minor version later, so that a downgrade finds no other objects.
 */
const formats = new Set(
  (
    "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 " +
    "isbn13 creditcard ssn hexcolor rgbcolor byte password date duration datetime"
  ).split(" "),
);

/** Formats of strings that are not enforced, each once, in the order of the schema. */
export function unknownFormats(schema: JsonSchema, found = new Set<string>()): Set<string> {
  const { type, format } = schema;
  if (type === "string" && format && !formats.has(format.replaceAll("-", ""))) found.add(format);
  const { properties, allOf, anyOf, oneOf, items, additionalProperties, not } = schema;
  const visit = (below: unknown): void => {
    if (typeof below === "object" && below !== null) unknownFormats(below as JsonSchema, found);
  };
  Object.values(properties ?? {}).forEach(visit);
  allOf?.forEach(visit);
  anyOf?.forEach(visit);
  oneOf?.forEach(visit);
  if (Array.isArray(items)) items.forEach(visit);
  else visit(items);
  visit(additionalProperties);
  visit(not);
  return found;
}
