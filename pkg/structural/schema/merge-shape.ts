import { deduced, rootShape } from "#fieldmanager";
import { memoize } from "#base";
import { objectMeta } from "#meta";
import type { MergeShape } from "#schema";
import type { CompiledSchema } from "./compiled-schema.ts";

const text: MergeShape = { scalar: "string" };
const untyped: MergeShape = { scalar: "untyped" };

/** Merge rules of server-side apply for values of a schema. */
export function mergeShape(schema: CompiledSchema): MergeShape {
  return strictShape(schema);
}

const strictShape = memoize((schema: CompiledSchema) => shapeOf(schema, false));
/** Merge shape inside a schema that preserves unknown fields. */
const lenientShape = memoize((schema: CompiledSchema) => shapeOf(schema, true));

function shapeOf(schema: CompiledSchema, isLenient: boolean): MergeShape {
  const preservesUnknown = isLenient || schema.preservesUnknown;
  const inner = preservesUnknown ? lenientShape : strictShape;
  if (schema.source["x-kubernetes-int-or-string"] === true) return untyped;
  switch (schema.source.type) {
    case "string":
      return isStringFormat(schema.source.format) ? text : untyped;
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    case "array":
      return { list: listShape(schema, inner) };
    case "object":
      return { map: mapShape(schema, { preservesUnknown, inner }) };
    default:
      return deduced;
  }
}

/** Whether values with the format are strings for server-side apply; kube-openapi maps others to Go types. */
function isStringFormat(format: string | undefined): boolean {
  return !format || format === "byte";
}

type Inner = (schema: CompiledSchema) => MergeShape;

function listShape(schema: CompiledSchema, inner: Inner): MergeShape["list"] {
  const { items, listType, listKeys } = schema;
  const relation = listType === "set" || listType === "map" ? listType : "atomic";
  const names = relation === "map" ? [...listKeys].sort() : [];
  const keys = names.map((name) => [name, items?.property(name)?.default] as const);
  return {
    relation,
    keys,
    get element() {
      return items === undefined ? deduced : inner(items);
    },
  };
}

function mapShape(
  schema: CompiledSchema,
  { preservesUnknown, inner }: { readonly preservesUnknown: boolean; readonly inner: Inner },
): MergeShape["map"] {
  const { propertyNames, values, allowsAnyValue, source } = schema;
  let fields: ReadonlyMap<string, MergeShape> | undefined;
  return {
    atomic: source["x-kubernetes-map-type"] === "atomic",
    get fields() {
      fields ??= new Map([
        ...propertyNames.flatMap((name) => {
          const property = schema.property(name);
          return property === undefined ? [] : [[name, inner(property)] as const];
        }),
        ...(schema.isEmbedded ? embeddedFields() : []),
      ]);
      return fields;
    },
    get element() {
      if (values !== undefined) return inner(values);
      const isOpen =
        allowsAnyValue || preservesUnknown || (propertyNames.length === 0 && !schema.isEmbedded);
      return isOpen && source.additionalProperties !== false ? deduced : undefined;
    },
  };
}

/** Fields that every embedded resource has. */
function embeddedFields(): readonly (readonly [string, MergeShape])[] {
  const { map } = rootShape(objectMeta);
  const fields = new Map(map?.fields);
  fields.delete("apiVersion");
  fields.delete("kind");
  const metadata = { map: { atomic: false, fields, element: undefined } };
  return [
    ["apiVersion", text],
    ["kind", text],
    ["metadata", metadata],
  ];
}
