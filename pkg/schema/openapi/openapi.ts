/**
 * Common part of both OpenAPI versions: generates named schemas that refer to each other. openapi-v2.ts
 * and openapi-v3.ts contain the differences.
 */
import type {
  Field,
  OpenMembers,
  PublishedRules,
  ScalarType,
  StructType,
  Type,
  Union,
} from "../struct/types.ts";

/** A JSON Schema object; the order of keys is significant. */
export type OpenApiSchema = Readonly<Record<string, unknown>>;

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A struct that is a top-level object of the API. */
export interface OpenApiRoot {
  readonly struct: StructType<any>;
  /** Listed in `x-kubernetes-group-version-kind`. */
  readonly kinds: readonly GroupVersionKind[];
  /** False for the few messages that carry no apiVersion and kind of their own (WatchEvent). */
  readonly typeMeta: boolean;
}

/** Computes the public name of a schema from package path and name. */
export type OpenApiNaming = (packagePath: string, name: string) => string;

/** The differences between OpenAPI versions. */
export interface OpenApiDialect {
  readonly version: "v2" | "v3";
  readonly scalar: (type: ScalarType<any>) => OpenApiSchema;
  /** Inline schema of a scalar. */
  readonly inline: (type: ScalarType<any>) => OpenApiSchema;
  /** A reference with its sibling keywords. */
  readonly reference: (name: string, siblings: OpenApiSchema) => OpenApiSchema;
  /** Whether `default` is printed. */
  readonly defaults: boolean;
}

/** A type with a named schema. */
export type OpenApiType = StructType<any> | ScalarType<any>;

/** The definition of a named type. */
export interface OpenApiDefinition {
  readonly schema: OpenApiSchema;
  /** The types to which the schema refers. */
  readonly refersTo: readonly OpenApiType[];
}

/** Generates one definition; `root` for a top-level object. */
export type OpenApiFold = (type: OpenApiType, root: OpenApiRoot | undefined) => OpenApiDefinition;

interface Walk {
  readonly dialect: OpenApiDialect;
  readonly nameOf: OpenApiNaming;
  readonly root: OpenApiRoot | undefined;
  readonly met: Set<OpenApiType>;
}

const typeMetaProperties = {
  apiVersion: {
    description:
      "APIVersion defines the API group and version of the object: `apps/v1`, or `v1` for core.",
    type: "string",
  },
  kind: {
    description: "Kind of the object in CamelCase, for example `Deployment`. Immutable.",
    type: "string",
  },
} as const;

/** The plain JSON Schema of a scalar. */
export function scalarSchema({ openapi }: ScalarType<any>): OpenApiSchema {
  const { type, format, items } = openapi;
  return {
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(items === undefined ? {} : { items }),
  };
}

/** Creates the fold from types to definitions. */
export function openApiFold(dialect: OpenApiDialect, nameOf: OpenApiNaming): OpenApiFold {
  return (type, root) => {
    const walk: Walk = { dialect, nameOf, root, met: new Set() };
    const schema = type.tag === "struct" ? structSchema(walk, type) : dialect.scalar(type);
    return { schema, refersTo: [...walk.met] };
  };
}

/**
 * Generates the definitions of `roots` and of all types to which they refer, with their names, lazily,
 * so that the work can be done in slices; `define` may return cached ones.
 */
export function* openApiDefinitions<D extends Pick<OpenApiDefinition, "refersTo">>(
  roots: readonly OpenApiRoot[],
  nameOf: OpenApiNaming,
  define: (type: OpenApiType, root: OpenApiRoot | undefined) => D,
): Generator<readonly [name: string, definition: D]> {
  const byStruct = new Map<OpenApiType, OpenApiRoot>(roots.map((root) => [root.struct, root]));
  const names = new Set<string>();
  const open: OpenApiType[] = [...byStruct.keys()].reverse();
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    const name = nameOf(type.package, type.name);
    if (names.has(name)) continue;
    names.add(name);
    const definition = define(type, byStruct.get(type));
    open.push(...definition.refersTo);
    yield [name, definition];
  }
}

/** A reference to a named type. */
function refer(walk: Walk, type: OpenApiType, siblings: OpenApiSchema): OpenApiSchema {
  walk.met.add(type);
  return walk.dialect.reference(walk.nameOf(type.package, type.name), siblings);
}

function structSchema(walk: Walk, struct: StructType<any>): OpenApiSchema {
  const { root } = walk;
  if (struct.open !== undefined) return openSchema(walk, struct, struct.open);
  const properties = new Map<string, OpenApiSchema>();
  const required: string[] = [];
  if (root?.typeMeta === true) {
    for (const [name, schema] of Object.entries(typeMetaProperties)) properties.set(name, schema);
  }
  collectProperties(walk, struct, { properties, required });
  const names = [...properties.keys()].sort();
  const kinds = root?.kinds ?? (struct.kind === undefined ? [] : [struct.kind]);
  return {
    description: struct.doc,
    type: "object",
    ...(required.length > 0 ? { required } : {}),
    ...(names.length > 0
      ? { properties: Object.fromEntries(names.map((name) => [name, properties.get(name)])) }
      : {}),
    ...(kinds.length > 0 ? { "x-kubernetes-group-version-kind": kinds } : {}),
    ...(struct.atomic === true ? { "x-kubernetes-map-type": "atomic" } : {}),
    ...struct.extensions,
    ...(struct.unions === undefined ? {} : { "x-kubernetes-unions": struct.unions.map(union) }),
  };
}

function union({ discriminator, members }: Union): OpenApiSchema {
  return { discriminator, "fields-to-discriminateBy": members };
}

/** The schema of an open struct, which its `open` members provide, except for the metadata. */
function openSchema(walk: Walk, struct: StructType<any>, open: OpenMembers): OpenApiSchema {
  const { metadata } = struct.fields;
  const schema = open.openApi(
    walk.dialect.version,
    typeSchema(walk, metadata.type, { description: metadata.doc }),
  );
  const { properties } = schema as { readonly properties?: OpenApiSchema };
  const kinds = walk.root?.kinds ?? [];
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: { ...properties, ...typeMetaProperties } }),
    "x-kubernetes-group-version-kind": kinds,
  };
}

interface Collected {
  readonly properties: Map<string, OpenApiSchema>;
  readonly required: string[];
}

/** Collects properties in declaration order, including those of inline structs. */
function collectProperties(walk: Walk, struct: StructType<any>, into: Collected): void {
  for (const [name, field] of Object.entries<Field>(struct.fields)) {
    const type = resolved(field.type);
    if (field.inline === true && type.tag === "struct") {
      collectProperties(walk, type, into);
      continue;
    }
    into.properties.set(name, fieldSchema(walk, field, type));
    if (isRequired(field)) into.required.push(name);
  }
}

/**
 * Kubernetes derives `required` from fields without `omitempty`. A field that validation requires is
 * included, too, unless it has a default.
 */
function isRequired(field: Field): boolean {
  if (field.openApi?.required !== undefined) return field.openApi.required;
  if (field.default !== undefined) return false;
  return field.required ?? !field.presence.omitEmpty;
}

function fieldSchema(walk: Walk, field: Field, type: Type): OpenApiSchema {
  const published = field.openApi ?? {};
  const hasZero = !field.presence.pointer && published.noZero !== true;
  const zero = hasZero ? zeroOf(type, field) : undefined;
  const fallback = published.default === true ? field.default : zero;
  const isBare = published.bareReference === true && walk.dialect.version === "v3";
  if (published.noZero === true && type.tag === "list") {
    const items = typeSchema(walk, type.element, {});
    return { description: field.doc, type: "array", items, ...listAndMapRules(field) };
  }
  return typeSchema(walk, withValues(type, published.enum), {
    ...(isBare ? {} : { description: field.doc }),
    ...(walk.dialect.defaults && fallback !== undefined ? { default: fallback } : {}),
    ...listAndMapRules(field),
  });
}

/** The type with the values to publish: of the string itself, of elements or of map values. */
function withValues(type: Type, values: PublishedRules["enum"]): Type {
  if (values === undefined) return type;
  switch (type.tag) {
    case "string": {
      const { values: _, ...plain } = type;
      return values === false ? (plain as Type) : { ...type, values };
    }
    case "list":
      return { ...type, element: withValues(type.element, values) };
    case "map":
      return { ...type, value: withValues(type.value, values) };
    default:
      return type;
  }
}

/** The semantics that strategic merge patch and server-side apply read. */
function listAndMapRules(field: Field): OpenApiSchema {
  return {
    ...(field.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": field.listMapKeys }),
    ...(field.listType === undefined ? {} : { "x-kubernetes-list-type": field.listType }),
    ...(field.mapType === undefined ? {} : { "x-kubernetes-map-type": field.mapType }),
    ...(field.patchMergeKey === undefined
      ? {}
      : { "x-kubernetes-patch-merge-key": field.patchMergeKey }),
    ...(field.patchStrategy === undefined
      ? {}
      : { "x-kubernetes-patch-strategy": field.patchStrategy.join(",") }),
  };
}

/**
 * The implicit default of a field: that of a struct by value, or of a scalar that is always written.
 * Scalars with their own codec have none.
 */
function zeroOf(type: Type, field: Field): unknown {
  if (type.tag === "struct") return {};
  return field.presence.omitEmpty ? undefined : plainZero(type);
}

function plainZero(type: Type): unknown {
  switch (type.tag) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "struct":
      return {};
    default:
      return undefined;
  }
}

function typeSchema(walk: Walk, type: Type, siblings: OpenApiSchema): OpenApiSchema {
  switch (type.tag) {
    case "scalar":
      return type.openapi.isInline === true
        ? { ...siblings, ...walk.dialect.inline(type) }
        : refer(walk, type, siblings);
    case "struct":
      return refer(walk, type, siblings);
    case "lazy":
      return typeSchema(walk, resolved(type), siblings);
    case "list":
      return { ...siblings, type: "array", items: elementSchema(walk, type.element) };
    case "map":
      return { ...siblings, type: "object", additionalProperties: elementSchema(walk, type.value) };
    case "string": {
      const values = type.values === undefined ? {} : { enum: [...type.values].sort() };
      return { ...siblings, type: "string", ...values };
    }
    case "bool":
      return { ...siblings, type: "boolean" };
    case "int32":
    case "int64":
      return { ...siblings, type: "integer", format: type.tag };
    case "double":
      return { ...siblings, type: "number", format: "double" };
    case "bytes":
      return { ...siblings, type: "string", format: "byte" };
  }
}

/**
 * The schema of list elements or map values, with the default of their type, as they are values in Go.
 */
function elementSchema(walk: Walk, element: Type): OpenApiSchema {
  const type = resolved(element);
  const zero = walk.dialect.defaults ? plainZero(type) : undefined;
  return typeSchema(walk, type, zero === undefined ? {} : { default: zero });
}

function resolved(type: Type): Type {
  return type.tag === "lazy" ? resolved(type.resolve()) : type;
}
