/**
 * The schema language. A type is a value, from which all folds (JSON, Protobuf, defaults, validation,
 * OpenAPI, tables, merging) are derived; `Infer` is the TypeScript type of its objects.
 *
 * Objects have the shape of their JSON: bytes are base64 strings, times are RFC 3339 strings,
 * quantities are canonical strings, an int64 beyond 2^53 is a bigint. Decoding converts client input to
 * normal form (Go's round trip: unknown fields and nulls are dropped, zero values of fields that are
 * always written are added), which conforms to the static type.
 */

import type { Slices } from "#base";
import type { MergeShape } from "./merge-shape.ts";

declare const shape: unique symbol;

/** Carries a TypeScript type through a value without existing at run time. */
interface Shaped<T> {
  readonly [shape]: T;
}

/** The TypeScript type of the objects that a schema type describes. */
export type Infer<S> = S extends Shaped<infer T> ? T : never;

export type Int64 = number | bigint;

export interface StringType<T extends string = string> extends Shaped<T> {
  readonly tag: "string";
  /**
   * Allowed values. Validation enforces them only where a field says `required` or `enumerated`;
   * OpenAPI publishes them unless the field's `openApi.enum` says otherwise.
   */
  readonly values?: readonly T[];
  /**
   * The Go type's name where it is a named string, as decode errors show it (for example
   * `v1.SecretType`).
   */
  readonly goName?: string;
}
export interface BoolType extends Shaped<boolean> {
  readonly tag: "bool";
}
export interface Int32Type extends Shaped<number> {
  readonly tag: "int32";
}
export interface Int64Type extends Shaped<Int64> {
  readonly tag: "int64";
}
export interface DoubleType extends Shaped<number> {
  readonly tag: "double";
}
/** Base64 (RFC 4648 section 4, padded) in JSON, raw in Protobuf. */
export interface BytesType extends Shaped<string> {
  readonly tag: "bytes";
  /** The bytes are UTF-8 text, which is the value; for messages that have no JSON form of their own. */
  readonly isText?: boolean;
}

/** OpenAPI fragment of a scalar, the same in v2 and v3 unless `v3` says otherwise. */
interface ScalarOpenApi {
  readonly type?: string;
  readonly format?: string;
  /**
   * Of a scalar that is a JSON array; clients refuse a whole document that has an array without.
   */
  readonly items?: Readonly<Record<string, unknown>>;
  readonly description?: string;
  /** Written where it is used; by default, a schema of its own that others refer to. */
  readonly isInline?: boolean;
  /** v3 writes `oneOf` for IntOrString and Quantity. */
  readonly v3?: Readonly<Record<string, unknown>>;
}

/**
 * A JSON value with its own codec: Time, MicroTime, Quantity, IntOrString, Duration, RawExtension,
 * FieldsV1. In Protobuf it is the message `wire`.
 */
export interface ScalarType<T = unknown> extends Shaped<T> {
  readonly tag: "scalar";
  readonly name: string;
  /** Fully qualified Protobuf message name without the domain, see StructType.package. */
  readonly package: string;
  readonly doc: string;
  /** Canonical form of a JSON value; throws ScalarFault with the words Go's decoder would use. */
  readonly fromJson: (value: unknown) => T;
  /**
   * Canonical form of a number whose digits matter (`1e3`, `80.0`), where `fromJson` of its value
   * will not do.
   */
  readonly fromNumber?: (literal: string) => T;
  /** Whether two canonical values mean the same; absent = they are the same JSON. */
  readonly equals?: (left: T, right: T) => boolean;
  /** Absent = values lie in memory as they are in JSON. The result is not to be changed. */
  readonly toJson?: (value: T) => unknown;
  readonly wire: StructType;
  readonly toWire: (value: T) => unknown;
  readonly fromWire: (message: never) => T;
  readonly openapi: ScalarOpenApi;
  /**
   * What JSON shows for an always-written field that has no value (`null` for Time, `"0"` for
   * Quantity).
   */
  readonly zero: T | null;
  /**
   * True for a Go struct or pointer receiver that `omitempty` never leaves out when the field is no
   * pointer.
   */
  readonly keptWhenEmpty?: boolean;
}

export interface ListType<E extends Type = Type> extends Shaped<Infer<E>[]> {
  readonly tag: "list";
  readonly element: E;
  /**
   * The Go type of a list that is a message of its own on the wire, with the elements in field 1
   * (ExtraValue, Verbs): the only lists that may stand inside a list or map.
   */
  readonly boxed?: { readonly name: string; readonly package: string };
}
export interface MapType<V extends Type = Type> extends Shaped<Record<string, Infer<V>>> {
  readonly tag: "map";
  readonly value: V;
  /** The Go type for decode errors, if it is a named map or has named keys. */
  readonly goName?: string;
}

/** A message: nested object in JSON, message in Protobuf. */
export interface StructType<F extends Fields = Fields> extends Shaped<InferFields<F>> {
  readonly tag: "struct";
  /** Go and Protobuf name, for example `LeaseSpec`. */
  readonly name: string;
  /**
   * Where it is declared: `api/coordination/v1`, `apimachinery/pkg/apis/meta/v1`. Proto and OpenAPI
   * names derive from it.
   */
  readonly package: string;
  /** One line for `kubectl explain`. */
  readonly doc: string;
  readonly fields: F;
  /** Replaced as a whole by apply (`+structType=atomic`). */
  readonly atomic?: boolean;
  /** Discriminated unions that OpenAPI publishes (`+union`). Validation does not read them. */
  readonly unions?: readonly Union[];
  /** Extensions (`x-…`) of the published schema. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** The API kind of the struct, published even where it is part of another schema. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
  /** Present if there are undeclared members: the struct of a custom resource. */
  readonly open?: OpenMembers;
}

/** A discriminated union: the discriminator, and its value for each member. */
export interface Union {
  readonly discriminator: string;
  /** Value of the discriminator by member field. */
  readonly members: Readonly<Record<string, string>>;
}

/**
 * Handles undeclared members of an object by a schema that is known only at run time. The functions
 * modify the complete object in place.
 */
export interface OpenMembers {
  /**
   * Drops what the schema does not know, and adds the paths of that to `unknown`. Throws
   * DecodeFault for what cannot be read at all.
   */
  readonly prune: (object: Record<string, unknown>, unknown: string[] | undefined) => Slices<void>;
  /** Sets the defaults of the schema. Returns whether it has set any. */
  readonly applyDefaults: (object: Record<string, unknown>) => boolean;
  /** How the members merge. */
  readonly mergeShape: () => MergeShape;
  /**
   * The schema of the whole object; `metadata` is what stands for the declared field. Without
   * properties none are shown.
   */
  readonly openApi: (
    dialect: "v2" | "v3",
    metadata: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
}

/** A recursive type (JSONSchemaProps). */
export interface LazyType<T = unknown> extends Shaped<T> {
  readonly tag: "lazy";
  readonly resolve: () => Type;
}

export type Type =
  | StringType<string>
  | BoolType
  | Int32Type
  | Int64Type
  | DoubleType
  | BytesType
  | ScalarType<any>
  | {
      readonly tag: "list";
      readonly element: Type;
      readonly boxed?: { readonly name: string; readonly package: string };
      readonly [shape]: any;
    }
  | {
      readonly tag: "map";
      readonly value: Type;
      readonly goName?: string;
      readonly [shape]: any;
    }
  | StructType<any>
  | LazyType<any>;

/**
 * Presence of a field. `pointer`: absent differs from zero (a Go pointer; Protobuf omits it if absent,
 * while other scalars are always written). `omitEmpty`: JSON omits it if it is zero, empty or absent. A
 * struct that is not a pointer is always written, in JSON (`"status":{}`) and Protobuf.
 */
interface Presence {
  readonly pointer: boolean;
  readonly omitEmpty: boolean;
}

/**
 * Differences between the published schema of a field and the enforced rules, for OpenAPI only.
 * Kubernetes generates schemas from Go types and markers, but validates and defaults in code.
 */
export interface PublishedRules {
  /** Whether the field is in `required`. By default: always written, and without a default. */
  readonly required?: boolean;
  /** False omits the type's values (no `+enum`); a list replaces them. */
  readonly enum?: false | readonly string[];
  /** Publishes the field's default (`+default`). */
  readonly default?: true;
  /** OpenAPI 3 gives neither the field nor its elements the zero value of a struct as default. */
  readonly noZero?: true;
  /** OpenAPI 3 refers to the type without a description beside it (no comment on the Go field). */
  readonly bareReference?: true;
}

/** Rules of a field beyond its type. */
export interface FieldRules {
  /**
   * Value filled in when the field is absent (or zero, for a field that is no pointer). JSON form.
   */
  readonly default?: unknown;
  /** Differences of the published schema from these rules. */
  readonly openApi?: PublishedRules;
  /** `Required value` when absent or empty. */
  readonly required?: boolean;
  /** `Unsupported value` unless one of the type's `values` (an empty optional string passes). */
  readonly enumerated?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: RegExp;
  /** `field is immutable` once the object exists (apivalidation.ValidateImmutableField). */
  readonly immutable?: boolean;
  /** Server-side apply's list semantics; a `map` needs `listMapKeys`. */
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /**
   * Server-side apply's map or struct semantics: replaced as a whole, or field by field where the
   * struct itself says otherwise.
   */
  readonly mapType?: "atomic" | "granular";
  /** Strategic merge patch: `patchStrategy` and `patchMergeKey`. */
  readonly patchStrategy?: readonly ("merge" | "replace" | "retainKeys")[];
  readonly patchMergeKey?: string;
  /** Feature gate that the field requires; see `dropGated`. */
  readonly gate?: string;
  /** Nested message on the wire, flattened into the parent in JSON (Go's `json:",inline"`). */
  readonly inline?: boolean;
  /**
   * JSON leaves out a zero value that its scalar would otherwise show (Go's `omitzero`;
   * creationTimestamp).
   */
  readonly omitZero?: boolean;
  /** Protobuf field name if it differs from the JSON name. */
  readonly protoName?: string;
}

export interface Field<T extends Type = Type, P extends Presence = Presence> extends FieldRules {
  /** Protobuf field number. 0 = not on the wire (JSON only). */
  readonly number: number;
  readonly type: T;
  readonly presence: P;
  readonly doc: string;
}

export type Fields = Readonly<Record<string, Field<any, Presence>>>;

/**
 * Always present after decoding: without omitempty, or a struct by value. Lists, maps and pointers may
 * be null.
 */
type KeyIsPresent<F> = F extends { readonly presence: { readonly pointer: false } }
  ? F extends { readonly type: { readonly tag: "struct" } }
    ? true
    : F extends { readonly presence: { readonly omitEmpty: false } }
      ? true
      : false
  : false;

type PresentKeys<F> = { [K in keyof F]: KeyIsPresent<F[K]> extends true ? K : never }[keyof F];

type FieldValue<F> = F extends { readonly type: infer T; readonly presence: infer P }
  ? P extends { readonly omitEmpty: false }
    ? T extends { readonly tag: "list" | "map" }
      ? Infer<T> | null
      : P extends { readonly pointer: true }
        ? Infer<T> | null
        : Infer<T>
    : Infer<T>
  : never;

/** Inline fields. */
type InlineKeys<F> = {
  [K in keyof F]: F[K] extends { readonly inline: true } ? K : never;
}[keyof F];

type InlineMembers<F> = {
  [K in InlineKeys<F>]: F[K] extends { readonly type: infer T } ? (of: Infer<T>) => void : never;
}[InlineKeys<F>];

/** Intersection of all inline structs; `unknown` for none or if F is `any`. */
type Inlined<F> = [InlineKeys<F>] extends [never]
  ? unknown
  : string extends InlineKeys<F>
    ? unknown
    : InlineMembers<F> extends (of: infer All) => void
      ? All
      : never;

type InferFields<F extends Fields> = {
  [K in Exclude<PresentKeys<F>, InlineKeys<F>>]: FieldValue<F[K]>;
} & {
  [K in Exclude<keyof F, PresentKeys<F> | InlineKeys<F>>]?: FieldValue<F[K]>;
} & Inlined<F>;
