/** Which JSON schemas custom resources may have. */
import type { Path, Problems } from "#schema";
import { entry, sortedKeys, unsupported } from "../strategy.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";
import { checkStructural } from "./structural-rules.ts";

const types = ["array", "boolean", "integer", "number", "object", "string"];

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

/** `path` is that of what holds `openAPIV3Schema`. */
export function checkSchema(
  schema: JsonSchema,
  path: Path,
  { hasStatus, problems }: { readonly hasStatus: boolean; readonly problems: Problems },
): void {
  const place = path.child("openAPIV3Schema");
  if (hasStatus) checkRootFields(schema, place, problems);
  if (schema.nullable) {
    problems.forbidden(place.child("nullable"), "nullable cannot be true at the root");
  }
  checkStructural(schema, place, problems);
  checkBelow(schema, place, { problems, isRoot: true });
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

interface Context {
  readonly problems: Problems;
  readonly isRoot?: boolean;
  /** Inside of apiVersion, kind or metadata of an object. */
  readonly inMetadata?: boolean;
  /** Why there may be no default here, as in `in top-level metadata`. */
  readonly noDefaults?: string;
}

const metaFields = ["apiVersion", "kind", "metadata"];

function checkBelow(schema: JsonSchema, path: Path, context: Context): void {
  const { problems } = context;
  checkSupported(schema, path, context);
  const inner: Context = { ...context, isRoot: false };
  if (schema.uniqueItems) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    problems.forbidden(path.child("uniqueItems"), detail);
  }
  checkAdditionalProperties(schema, path, inner);
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
  if (schema.not !== undefined) checkBelow(schema.not, path.child("not"), inner);
  for (const junctor of ["allOf", "oneOf", "anyOf"] as const) {
    schema[junctor]?.forEach((each, index) =>
      checkBelow(each, path.child(junctor).index(index), inner),
    );
  }
  checkItems(schema, path, inner);
  checkExtensions(schema, path, problems);
  checkListMap(schema, path, problems);
  checkListItems(schema, path, problems);
  schema["x-kubernetes-validations"]?.forEach((rule, index) =>
    checkRule(rule, path.child("x-kubernetes-validations").index(index), problems),
  );
}

/** Words of JSON Schema that Kubernetes does not take. */
function checkSupported(schema: JsonSchema, path: Path, context: Context): void {
  const { problems, noDefaults, inMetadata } = context;
  const { type = "" } = schema;
  if (type !== "" && type !== "null" && !types.includes(type)) {
    problems.notSupported(path.child("type"), type, types);
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
  if (typeof values === "object") checkBelow(values, place, context);
}

function checkItems({ items }: JsonSchema, path: Path, context: Context): void {
  if (!items) return;
  const place = path.child("items");
  if ("length" in items && Array.isArray(items)) {
    items.forEach((each, index) => checkBelow(each, place.index(index), context));
  } else checkBelow(items as JsonSchema, place, context);
}

const LIST_TYPE = "x-kubernetes-list-type";
const LIST_KEYS = "x-kubernetes-list-map-keys";
const MAP_TYPE = "x-kubernetes-map-type";

function checkExtensions(schema: JsonSchema, path: Path, problems: Problems): void {
  const preserve = "x-kubernetes-preserve-unknown-fields";
  if (schema[preserve] === false) {
    problems.invalid(path.child(preserve), false, "must be true or undefined");
  }
  const needsType = (type: string, reason: string) => {
    if (schema.type === type) return true;
    const detail = `must be ${type} if ${reason} is specified`;
    if (!schema.type) problems.required(path.child("type"), detail);
    else problems.invalid(path.child("type"), schema.type, detail);
    return false;
  };
  const mapType = schema[MAP_TYPE];
  if (mapType !== undefined) {
    needsType("object", MAP_TYPE);
    const supported = ["atomic", "granular"];
    if (!supported.includes(mapType)) {
      unsupported(problems, path.child(MAP_TYPE), { value: mapType, supported });
    }
  }
  const listType = schema[LIST_TYPE];
  const listTypes = ["atomic", "set", "map"];
  if (listType !== undefined && needsType("array", LIST_TYPE) && !listTypes.includes(listType)) {
    unsupported(problems, path.child(LIST_TYPE), { value: listType, supported: listTypes });
  }
  if ((schema[LIST_KEYS] ?? []).length === 0) return;
  const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
  if (listType === undefined) problems.required(path.child(LIST_TYPE), detail);
  else if (listType !== "map") problems.invalid(path.child(LIST_TYPE), listType, detail);
}

/** The keys of a list of type map are scalar properties of its items. */
function checkListMap(schema: JsonSchema, path: Path, problems: Problems): void {
  if (schema[LIST_TYPE] !== "map") return;
  const keys = schema[LIST_KEYS] ?? [];
  const items = path.child("items");
  if (keys.length === 0) {
    const detail = "must not be empty if x-kubernetes-list-type is map";
    problems.required(path.child(LIST_KEYS), detail);
  }
  if (!schema.items) {
    problems.required(items, "must have a schema if x-kubernetes-list-type is map");
    return;
  }
  const item = itemOf(schema);
  if (item === undefined) {
    const detail = "must only have a single schema if x-kubernetes-list-type is map";
    problems.invalid(items, schema.items, detail);
  } else if (item.type === "object") checkKeys(keys, item, { path, problems });
  else {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    problems.invalid(items.child("type"), item.type ?? "", detail);
  }
}

function itemOf({ items }: JsonSchema): JsonSchema | undefined {
  return items && !Array.isArray(items) ? (items as JsonSchema) : undefined;
}

interface Place {
  readonly path: Path;
  readonly problems: Problems;
}

function checkKeys(keys: readonly string[], item: JsonSchema, { path, problems }: Place): void {
  for (const [index, key] of keys.entries()) {
    const property = entry(item.properties, key);
    if (property === undefined) {
      const detail = "entries must all be names of item properties";
      problems.invalid(path.child(LIST_KEYS), keys, detail);
    } else if (property.type === "array" || property.type === "object") {
      const place = path.child("items", "properties").key(key).child("type");
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      problems.invalid(place, property.type, detail);
    }
    if (keys.indexOf(key) < index) {
      problems.invalid(path.child(LIST_KEYS), keys, "must not contain duplicate entries");
    }
  }
}

/** Items of sets and maps can be told apart as a whole. */
function checkListItems(schema: JsonSchema, path: Path, problems: Problems): void {
  const listType = schema[LIST_TYPE];
  const item = itemOf(schema);
  if (item === undefined || (listType !== "set" && listType !== "map")) return;
  const items = path.child("items");
  if (item.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    problems.forbidden(items.child("nullable"), detail);
  }
  if (listType === "map") {
    for (const key of schema[LIST_KEYS] ?? []) checkKeyValue(key, item, { path: items, problems });
    return;
  }
  const field = item.type === "object" ? MAP_TYPE : item.type === "array" ? LIST_TYPE : undefined;
  if (field === undefined || item[field] === "atomic") return;
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  problems.invalid(items.child(field), item[field] ?? null, detail);
}

function checkKeyValue(key: string, item: JsonSchema, { path, problems }: Place): void {
  const property = entry(item.properties, key);
  if (property === undefined) return;
  const place = path.child("properties").key(key);
  const reason = "this property is in x-kubernetes-list-map-keys, so it";
  if (property.default === undefined && !item.required?.includes(key)) {
    const detail = `${reason} must have a default or be a required property`;
    problems.required(place.child("default"), detail);
  }
  if (property.nullable) {
    problems.forbidden(place.child("nullable"), `${reason} cannot be nullable`);
  }
}

const reasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** The shape of a rule; its expressions are another matter. */
function checkRule(rule: ValidationRule, path: Path, problems: Problems): void {
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
}

const formats = new Set(
  (
    "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 " +
    "isbn13 creditcard ssn hexcolor rgbcolor byte password date duration datetime date-time " +
    "k8s-short-name k8s-long-name int32 int64 float double"
  ).split(" "),
);

/** Formats that mean nothing here, each once, in the order of the schema. */
export function unknownFormats(schema: JsonSchema, found = new Set<string>()): Set<string> {
  if (schema.format && !formats.has(schema.format)) found.add(schema.format);
  const { items, additionalProperties, not } = schema;
  const below = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...[items, additionalProperties, not].flat(),
  ];
  for (const each of below) if (typeof each === "object" && each) unknownFormats(each, found);
  return found;
}
