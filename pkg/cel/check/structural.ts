/**
 * CEL types of structural schemas. Sizes without a declared bound are limited by the request size, with
 * exactly Kubernetes' numbers, on which cost estimates depend.
 */
import { escapeProperty, unescapeProperty } from "../syntax/escape.ts";
import {
  bool,
  bounded,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  type ListSemantics,
  mapOf,
  objectOf,
  type ObjectField,
  string,
  timestamp,
  withSemantics,
} from "./types.ts";

/** The keywords of OpenAPI v3 that determine the type. */
export interface StructuralSchema {
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly properties?: Readonly<Record<string, StructuralSchema>> | undefined;
  readonly additionalProperties?: StructuralSchema | boolean | undefined;
  readonly items?: StructuralSchema | undefined;
  readonly required?: readonly string[] | null | undefined;
  readonly default?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly maxItems?: number | bigint | undefined;
  readonly maxLength?: number | bigint | undefined;
  readonly maxProperties?: number | bigint | undefined;
  readonly "x-kubernetes-int-or-string"?: boolean | undefined;
  readonly "x-kubernetes-embedded-resource"?: boolean | undefined;
  readonly "x-kubernetes-list-type"?: string | undefined;
  readonly "x-kubernetes-list-map-keys"?: readonly string[] | null | undefined;
}

/** Maximum size of a request body. */
const maxRequestBytes = 3 * 1024 * 1024;
/** Size of the quotes of a string, or the brackets of a list or map. */
const delimiterBytes = 2;
/** Maximum size of a code point in UTF-8. */
const maxRuneBytes = 4;

/** A type with the minimum size of its values in JSON, in bytes. */
interface Sized {
  readonly type: CelType;
  readonly least: number;
}

/**
 * The type of `self`; undefined for a schema without a type. At the root of a resource, apiVersion,
 * kind, metadata.name and metadata.generateName are always declared.
 */
export function structuralType(schema: StructuralSchema, isRoot = false): CelType | undefined {
  return sizedType(schema, isRoot, selfTypeName)?.type;
}

/**
 * Type name of `self`, in Kubernetes' form with fixed instead of random digits. Nested types are named
 * by path: objects at different paths have different types.
 */
const selfTypeName = "selfType000000000";

/** The type of a resource with complete metadata, for admission policies. */
export function resourceType(schema: StructuralSchema, metadata: CelType): CelType | undefined {
  const whole = structuralType(schema, true)?.object;
  return (
    whole &&
    objectOf({
      ...whole,
      field: (name) => (name === "metadata" ? { key: name, type: metadata } : whole.field(name)),
    })
  );
}

/** Minimum size of a value in JSON, in bytes; undefined for a schema without a type. */
export function minSize(schema: StructuralSchema, isRoot = false): number | undefined {
  return sizedType(schema, isRoot, selfTypeName)?.least;
}

/** Maximum number of values of the size in a request, with a comma after each. */
export function maxCountInRequest(size: number): number {
  return Math.floor(maxRequestBytes / (size + 1));
}

function sizedType(schema: StructuralSchema, isRoot: boolean, name: string): Sized | undefined {
  if (schema["x-kubernetes-int-or-string"] === true) {
    return { type: bounded(dyn, maxRequestBytes - delimiterBytes), least: 1 };
  }
  switch (schema.type) {
    case "array":
      return arrayType(schema, name);
    case "object":
      return objectType(schema, isRoot, name);
    case "string":
      return textType(schema);
    case "boolean":
      return { type: bool, least: 4 };
    case "number":
      return { type: double, least: 1 };
    case "integer":
      return { type: int, least: 1 };
    default:
      return undefined;
  }
}

function nested(schema: StructuralSchema, name: string): Sized | undefined {
  return sizedType(schema, schema["x-kubernetes-embedded-resource"] === true, name);
}

function declared(bound: number | bigint | undefined): number | undefined {
  return bound === undefined ? undefined : Math.max(0, Number(bound));
}

function arrayType(schema: StructuralSchema, name: string): Sized | undefined {
  const items = schema.items === undefined ? undefined : nested(schema.items, `${name}.@idx`);
  if (items === undefined) return undefined;
  const most =
    declared(schema.maxItems) ?? Math.floor((maxRequestBytes - delimiterBytes) / (items.least + 1));
  const type = bounded(listOf(items.type), most);
  const semantics = semanticsOf(schema);
  return {
    type: semantics === undefined ? type : withSemantics(type, semantics),
    least: delimiterBytes,
  };
}

function semanticsOf(schema: StructuralSchema): ListSemantics | undefined {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return { kind: "set" };
    case "map":
      return { kind: "map", keys: (schema["x-kubernetes-list-map-keys"] ?? []).map(escaped) };
    default:
      return undefined;
  }
}

function escaped(name: string): string {
  return escapeProperty(name) ?? name;
}

const text: StructuralSchema = { type: "string" };
const identity: Properties = {
  apiVersion: text,
  kind: text,
  metadata: { type: "object", properties: { name: text, generateName: text } },
};

function objectType(schema: StructuralSchema, isRoot: boolean, name: string): Sized | undefined {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object" && additionalProperties !== null) {
    const value = nested(additionalProperties, `${name}.@elem`);
    if (value === undefined) return undefined;
    // Beside the value, the shortest entry has quotes, colon, comma and a name of two bytes.
    const most =
      declared(schema.maxProperties) ??
      Math.floor((maxRequestBytes - delimiterBytes) / (value.least + 6));
    // Key sizes are not part of estimates.
    return { type: bounded(mapOf(bounded(string, 0), value.type), most), least: delimiterBytes };
  }
  const properties = isRoot ? { ...schema.properties, ...identity } : (schema.properties ?? {});
  return {
    type: objectOf({ name, field: fieldsOf(properties, name) }),
    least: delimiterBytes + requiredMembersSize(properties, schema.required ?? []),
  };
}

type Properties = Readonly<Record<string, StructuralSchema>>;

/** Creates field types on first use, as most fields of a large schema are never used. */
function fieldsOf(
  properties: Properties,
  parent: string,
): (name: string) => ObjectField | undefined {
  const known = new Map<string, ObjectField>();
  return (name) => {
    const cached = known.get(name);
    if (cached !== undefined) return cached;
    const key = unescapeProperty(name);
    const property = key !== undefined && Object.hasOwn(properties, key) && properties[key];
    const member = property ? nested(property, `${parent}.${name}`) : undefined;
    const field =
      key === undefined || member === undefined ? undefined : { key, type: member.type };
    if (field !== undefined) known.set(name, field);
    return field;
  };
}

/** Minimum size of the required members, in bytes. */
function requiredMembersSize(properties: Properties, required: readonly string[]): number {
  let least = 0;
  for (const key of new Set(required)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined || property.default !== undefined) continue;
    const member = nested(property, "");
    if (member !== undefined) least += Buffer.byteLength(key) + member.least + 4;
  }
  return least;
}

function textType(schema: StructuralSchema): Sized {
  const most = declared(schema.maxLength);
  switch (schema.format) {
    case "byte":
      return {
        type: bounded(bytes, most ?? maxRequestBytes - delimiterBytes),
        least: delimiterBytes,
      };
    case "duration":
      return { type: bounded(duration, 32), least: 3 };
    case "date":
      return { type: bounded(timestamp, 10), least: 12 };
    case "date-time":
      return { type: bounded(timestamp, 21), least: 22 };
    default:
  }
  if (most !== undefined)
    return { type: bounded(string, most * maxRuneBytes), least: delimiterBytes };
  const values = (schema.enum ?? []).filter((value) => typeof value === "string");
  const longest = values.reduce((length, value) => Math.max(length, Buffer.byteLength(value)), 0);
  const bound = values.length > 0 ? longest : maxRequestBytes - delimiterBytes;
  return { type: bounded(string, bound), least: delimiterBytes };
}
