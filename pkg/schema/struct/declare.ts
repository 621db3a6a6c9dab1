/** Constructors of the schema language, in which pkg/api is written. */
import type {
  BoolType,
  BytesType,
  DoubleType,
  Field,
  FieldRules,
  Fields,
  Int32Type,
  Int64Type,
  LazyType,
  ListType,
  MapType,
  OpenMembers,
  ScalarType,
  StringType,
  StructType,
  Type,
  Union,
} from "./types.ts";

/** Casts to the phantom type, which exists only at compile time. */
function declared<T>(value: object): T {
  return value as T;
}

export const string: StringType = declared({ tag: "string" });
export const bool: BoolType = declared({ tag: "bool" });
export const int32: Int32Type = declared({ tag: "int32" });
export const int64: Int64Type = declared({ tag: "int64" });
export const double: DoubleType = declared({ tag: "double" });
export const bytes: BytesType = declared({ tag: "bytes" });
/** Text that Go declares as bytes, in the message of a scalar. */
export const textBytes: BytesType = declared({ tag: "bytes", isText: true });

/** A string with known values, for example `oneOf("TCP", "UDP")`. */
export function oneOf<const V extends readonly string[]>(...values: V): StringType<V[number]> {
  return declared({ tag: "string", values });
}

/** A string with a named Go type, for decode errors; `values` may be empty. */
export function named(goName: string, ...values: readonly string[]): StringType {
  const known = values.length > 0 ? { values } : {};
  return declared({ tag: "string", goName, ...known });
}

export function list<E extends Type>(element: E): ListType<E> {
  return declared({ tag: "list", element });
}

/** A list that is a message `name` in Protobuf, with its elements in field 1. */
export function boxedList<E extends Type>(
  packagePath: string,
  name: string,
  element: E,
): ListType<E> {
  return declared({ tag: "list", element, boxed: { name, package: packagePath } });
}

/** A map with string keys; `goName` is its type in decode errors, such as `v1.ResourceList`. */
export function map<V extends Type>(value: V, goName?: string): MapType<V> {
  return declared({ tag: "map", value, ...(goName === undefined ? {} : { goName }) });
}

export function scalar<T>(declaration: Omit<ScalarType<T>, "tag" | symbol>): ScalarType<T> {
  return declared({ tag: "scalar", ...declaration });
}

export function lazy<T>(resolve: () => Type): LazyType<T> {
  return declared({ tag: "lazy", resolve });
}

export interface StructOptions {
  readonly atomic?: boolean;
  readonly unions?: readonly Union[];
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly kind?: NonNullable<StructType["kind"]>;
  readonly open?: OpenMembers;
}

/**
 * Struct types of one package: `const v1 = structs("api/coordination/v1")`, then
 * `v1("LeaseSpec", "one line", { holderIdentity: pointer(1, string, "one line") })`.
 */
export function structs(packagePath: string) {
  return <const F extends Fields>(
    name: string,
    doc: string,
    fields: F,
    options: StructOptions = {},
  ): StructType<F> =>
    declared({ tag: "struct", name, package: packagePath, doc, fields, ...options });
}

type Pointer<T extends Type> = Field<T, { readonly pointer: true; readonly omitEmpty: true }>;
type Value<T extends Type> = Field<T, { readonly pointer: false; readonly omitEmpty: true }>;
type Required<T extends Type> = Field<T, { readonly pointer: false; readonly omitEmpty: false }>;
type NullablePointer<T extends Type> = Field<
  T,
  { readonly pointer: true; readonly omitEmpty: false }
>;

/** A Go pointer with `omitempty`: absent differs from zero. */
export function pointer<T extends Type>(
  number: number,
  type: T,
  doc: string,
  rules: FieldRules = {},
): Pointer<T> {
  return { number, type, doc, presence: { pointer: true, omitEmpty: true }, ...rules };
}

/**
 * A Go value with `omitempty`: left out of JSON when zero or empty, always on the wire if a scalar
 * or struct.
 */
export function value<T extends Type>(
  number: number,
  type: T,
  doc: string,
  rules: FieldRules = {},
): Value<T> {
  return { number, type, doc, presence: { pointer: false, omitEmpty: true }, ...rules };
}

type Inline<T extends Type> = Value<T> & { readonly inline: true };

/** A nested message in Protobuf, whose fields are members of the parent in JSON. */
export function inline<T extends StructType<any>>(
  number: number,
  type: T,
  doc: string,
  rules: FieldRules = {},
): Inline<T> {
  return { ...value(number, type, doc, rules), inline: true };
}

/** A Go value without `omitempty`: always written; an absent list or map is null. */
export function required<T extends Type>(
  number: number,
  type: T,
  doc: string,
  rules: FieldRules = {},
): Required<T> {
  return { number, type, doc, presence: { pointer: false, omitEmpty: false }, ...rules };
}

/** A Go pointer without `omitempty`: null when absent. */
export function nullablePointer<T extends Type>(
  number: number,
  type: T,
  doc: string,
  rules: FieldRules = {},
): NullablePointer<T> {
  return { number, type, doc, presence: { pointer: true, omitEmpty: false }, ...rules };
}

/**
 * Rules of a list whose items are identified by their field `key`, in server-side apply and in strategic
 * merge patches (`+listType=map`, `+listMapKey`, `+patchStrategy=merge`, `+patchMergeKey`).
 */
export function mergedBy(key: string): FieldRules {
  return { listType: "map", listMapKeys: [key], patchStrategy: ["merge"], patchMergeKey: key };
}
