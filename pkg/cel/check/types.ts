/** Static types of expressions. Compare them by `sameType`, not by identity. */

type TypeKind =
  | "dyn"
  | "error"
  | "null_type"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "list"
  | "map"
  | "type"
  | "opaque"
  | "object"
  | "parameter";

/** Equality and concatenation of lists, by `x-kubernetes-list-type`. */
export type ListSemantics =
  | { readonly kind: "set" }
  | { readonly kind: "map"; readonly keys: readonly string[] };

export interface CelType {
  readonly kind: TypeKind;
  /** Run-time name, the result of `type(x)`. */
  readonly name: string;
  readonly parameters: readonly CelType[];
  /** Fields of kind `object`. */
  readonly object?: ObjectType;
  /** Semantics of kind `list`; absent = atomic. */
  readonly semantics?: ListSemantics;
  /**
   * Maximum number of elements, entries, code points or bytes of a value, for cost estimates.
   */
  readonly maximumSize?: number;
}

/** An object with declared fields, from a structural schema or a built-in struct. */
export interface ObjectType {
  /** Name for messages and `type(x)`. */
  readonly name: string;
  /** The field with the escaped name, or undefined. */
  field(name: string): ObjectField | undefined;
  /** Checks the values of a constructed object at run time; returns the error. */
  fault?(fields: Readonly<Record<string, unknown>>): string | undefined;
}

export interface ObjectField {
  /** The property's name in JSON. */
  readonly key: string;
  readonly type: CelType;
}

function simple(kind: TypeKind, name: string = kind): CelType {
  return { kind, name, parameters: [] };
}

/** The type of a field that a type provider knows without a type; assignable from dyn only. */
export const unspecified: CelType = { kind: "opaque", name: "", parameters: [] };
export const dyn = simple("dyn");
export const errorType = simple("error", "!error!");
export const nullType = simple("null_type");
export const bool = simple("bool");
export const int = simple("int");
export const uint = simple("uint");
export const double = simple("double");
export const string = simple("string");
export const bytes = simple("bytes");
export const timestamp = simple("timestamp", "google.protobuf.Timestamp");
export const duration = simple("duration", "google.protobuf.Duration");

export function listOf(element: CelType): CelType {
  return { kind: "list", name: "list", parameters: [element] };
}

export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: "map", name: "map", parameters: [key, value] };
}

export function typeOf(type: CelType): CelType {
  return { kind: "type", name: "type", parameters: [type] };
}

/** An opaque type, accessible only by functions (`net.IP`, `optional_type`). */
export function opaque(name: string, ...parameters: readonly CelType[]): CelType {
  return { kind: "opaque", name, parameters };
}

export function optionalOf(type: CelType): CelType {
  return opaque("optional_type", type);
}

export function objectOf(object: ObjectType): CelType {
  return { kind: "object", name: object.name, parameters: [], object };
}

/** A type variable of a declaration: `A` in `list(A)`. */
export function parameter(name: string): CelType {
  return simple("parameter", name);
}

/** The type with a maximum size of values. */
export function bounded(type: CelType, maximumSize: number): CelType {
  return { ...type, maximumSize };
}

/** The list type with set or map semantics. */
export function withSemantics(type: CelType, semantics: ListSemantics): CelType {
  return { ...type, semantics };
}

/** Whether Kubernetes declares the opaque type as a struct, which affects messages and costs. */
export function isStructName({ kind, name }: CelType): boolean {
  return kind === "opaque" && name.startsWith("kubernetes.");
}

export function isOptional(type: CelType): boolean {
  return type.kind === "opaque" && type.name === "optional_type";
}

/** The type parameter; dyn if there is none. */
export function parameterOf(type: CelType, index = 0): CelType {
  return type.parameters[index] ?? dyn;
}

/** The type as compile errors print it. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "null_type":
      return "null";
    case "timestamp":
    case "duration":
      return type.kind;
    case "type":
      if (type.parameters.length === 0) return "type";
      break;
    default:
  }
  if (type.parameters.length === 0) return type.name;
  return `${type.name}(${type.parameters.map(formatType).join(", ")})`;
}

/** The format of cel-go's `cel.Type`, for messages of the API server. */
export function typeText(type: CelType): string {
  if (
    type.kind === "opaque" ||
    type.kind === "list" ||
    type.kind === "map" ||
    type.kind === "type"
  ) {
    if (type.parameters.length === 0) return type.name;
    return `${type.name}(${type.parameters.map(typeText).join(", ")})`;
  }
  return type.name;
}

export function sameType(left: CelType, right: CelType): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  if (left.parameters.length !== right.parameters.length) return false;
  return left.parameters.every((own, index) => sameType(own, parameterOf(right, index)));
}
