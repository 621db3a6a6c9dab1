import type { JsonSchema, SchemaMap } from "./json-schema.ts";

type OpenApi = Readonly<Record<string, unknown>>;

interface Dialect {
  readonly version: "v2" | "v3";
  /** Schema of the metadata of embedded resources. */
  readonly metadata: OpenApi;
}

/**
 * The OpenAPI form of a schema. Version 2 omits keywords that Swagger 2.0 does not have or that old
 * kubectl versions reject, by the rules of apiextensions-apiserver.
 */
export function publishedSchema(
  source: JsonSchema,
  version: "v2" | "v3",
  metadata: OpenApi,
): OpenApi {
  return published(source, { version, metadata });
}

const unsupportedInV2 = ["allOf", "anyOf", "oneOf"] as const;
/** Keywords that are never published. */
const omitted: ReadonlySet<string> = new Set(["$schema", "$ref", "id", "example"]);

function published(source: JsonSchema, dialect: Dialect): OpenApi {
  const adapted = dialect.version === "v2" ? simplifyForV2(source) : expandIntOrString(source);
  const { items, properties, additionalProperties: values } = adapted;
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(adapted)) {
    const isSet = value !== undefined && !(name === "default" && value === null);
    if (isSet && !omitted.has(name)) result[name] = value;
  }
  if (values !== undefined) {
    result["additionalProperties"] =
      typeof values === "object" ? published(values, dialect) : values;
  }
  if (items) result["items"] = published(items as JsonSchema, dialect);
  if (properties !== undefined) result["properties"] = publishedMap(properties, dialect);
  return adapted["x-kubernetes-embedded-resource"] === true
    ? embeddedResource(result, dialect)
    : result;
}

function publishedMap(properties: SchemaMap, dialect: Dialect): OpenApi {
  const entries = Object.entries(properties);
  return Object.fromEntries(entries.map(([name, each]) => [name, published(each, dialect)]));
}

const intOrString: readonly JsonSchema[] = [{ type: "integer" }, { type: "string" }];

/** Expresses `x-kubernetes-int-or-string` by `anyOf`. */
function expandIntOrString(source: JsonSchema): JsonSchema {
  const { anyOf, allOf = [] } = source;
  if (source["x-kubernetes-int-or-string"] !== true) return source;
  if ([anyOf, allOf[0]?.anyOf].some(isIntOrString)) return source;
  if (anyOf === undefined) return { ...source, anyOf: intOrString };
  const { anyOf: _, ...rest } = source;
  return { ...rest, allOf: [{ anyOf: intOrString }, { anyOf }, ...allOf] };
}

function isIntOrString(anyOf: readonly JsonSchema[] | undefined): boolean {
  return anyOf?.length === 2 && anyOf.every(({ type }, index) => type === intOrString[index]?.type);
}

/** Removes keywords that Swagger 2.0 and its clients do not support. */
function simplifyForV2(source: JsonSchema): JsonSchema {
  const keepsUnknown = source["x-kubernetes-preserve-unknown-fields"] === true;
  const isBare = keepsUnknown || source.nullable === true;
  const dropped = new Set<string>([...unsupportedInV2, "not", "nullable"]);
  if (isBare) for (const name of ["items", "properties"]) dropped.add(name);
  const hasNoItems = isBare || !source.items;
  const isUntyped =
    source.nullable === true ||
    (source.type === "array" && hasNoItems) ||
    (source.type === "object" && keepsUnknown);
  if (isUntyped) dropped.add("type");
  const kept = Object.entries(source).filter(([name]) => !dropped.has(name));
  return { ...Object.fromEntries(kept), ...requiredOf(source, dropped.has("properties")) };
}

/** Removes nullable fields from `required`, as Swagger 2.0 clients do not know null. */
function requiredOf(
  source: JsonSchema,
  isWithoutProperties: boolean,
): Pick<JsonSchema, "required"> {
  const { required, properties = {}, additionalProperties: values } = source;
  if (required === undefined) return {};
  const isNullableMap = typeof values === "object" && values.nullable === true;
  const remaining = required.filter((name) => {
    if (isNullableMap) return false;
    const isNullable = Object.hasOwn(properties, name) && properties[name]?.nullable === true;
    return isWithoutProperties || !isNullable;
  });
  return { required: remaining };
}

const typeMeta = {
  apiVersion: { description: "Group and version of the object inside.", type: "string" },
  kind: { description: "Kind of the object inside.", type: "string" },
} as const;

/** Adds apiVersion, kind and metadata to the schema of an embedded resource. */
function embeddedResource(
  schema: Record<string, unknown>,
  { version, metadata }: Dialect,
): OpenApi {
  if (version === "v2" && schema["x-kubernetes-preserve-unknown-fields"] === true) return schema;
  const { properties, required } = schema as {
    readonly properties?: OpenApi;
    readonly required?: readonly string[];
  };
  const missing = ["kind", "apiVersion"].filter((name) => required?.includes(name) !== true);
  return {
    ...schema,
    properties: { ...properties, ...typeMeta, metadata },
    required: [...(required ?? []), ...missing],
  };
}
