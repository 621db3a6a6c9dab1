import { deepEqual, memoize } from "#base";
import { type JsonField, jsonFields } from "./layout.ts";
import type { StructType, Type } from "./types.ts";
import { zeroOf } from "./zero.ts";

type Equality = (left: any, right: any) => boolean;

/**
 * Equality of two values of a type as Kubernetes' `apiequality.Semantic.DeepEqual` defines it:
 * scalars compare by their meaning (the quantities `1Gi` and `1073741824` are equal), an empty list
 * or map equals an absent one, and so does the zero value of a field that is no pointer.
 */
export const semanticEquality = memoize((type: Type): Equality => {
  const equal = equalityOf(type);
  return (left, right) => left === right || equal(left, right);
});

function equalityOf(type: Type): Equality {
  switch (type.tag) {
    case "scalar":
      return type.equals ?? deepEqual;
    case "list":
      return listEquality(semanticEquality(type.element));
    case "map":
      return mapEquality(semanticEquality(type.value));
    case "struct":
      return structEquality(type);
    case "lazy":
      return (left, right) => semanticEquality(type.resolve())(left, right);
    default:
      return deepEqual;
  }
}

function listEquality(equal: Equality): Equality {
  return (left: readonly unknown[] | null = [], right: readonly unknown[] | null = []) => {
    const [first, second] = [left ?? [], right ?? []];
    return (
      first.length === second.length &&
      first.every((element, index) => equalOrNull(equal, element, second[index]))
    );
  };
}

function mapEquality(equal: Equality): Equality {
  return (left: Shape | null | undefined, right: Shape | null | undefined) => {
    const [first, second] = [left ?? {}, right ?? {}];
    const keys = keysOf(first);
    return (
      keys.length === keysOf(second).length &&
      keys.every((key) => Object.hasOwn(second, key) && equalOrNull(equal, first[key], second[key]))
    );
  };
}

type Shape = Readonly<Record<string, unknown>>;

function keysOf(map: Shape): string[] {
  return Object.keys(map).filter((key) => map[key] !== undefined);
}

function equalOrNull(equal: Equality, left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isAbsent(left) || isAbsent(right)) return isAbsent(left) && isAbsent(right);
  return equal(left, right);
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function structEquality(struct: StructType<any>): Equality {
  let fields: readonly (readonly [string, Equality])[] | undefined;
  return (left: Shape | null | undefined, right: Shape | null | undefined) => {
    if (isAbsent(left) || isAbsent(right)) return isAbsent(left) && isAbsent(right);
    fields ??= jsonFields(struct).map((field) => [field.name, fieldEquality(field)] as const);
    return (
      fields.every(
        ([name, equal]) => left[name] === right[name] || equal(left[name], right[name]),
      ) &&
      (struct.open === undefined ||
        deepEqual(otherMembers(struct, left), otherMembers(struct, right)))
    );
  };
}

/** The members of an object of an open struct that are none of its fields. */
function otherMembers(struct: StructType<any>, object: Shape): Shape {
  return Object.fromEntries(
    Object.entries(object).filter(([name]) => !Object.hasOwn(struct.fields, name)),
  );
}

/** Equality of two values of a field, either of which may be absent. */
export const fieldEquality = memoize((field: JsonField): Equality => {
  const equal = semanticEquality(field.type);
  if (field.presence.pointer) return (left, right) => equalOrNull(equal, left, right);
  const zero = zeroOf(field.type);
  return (left, right) => left === right || equal(left ?? zero(), right ?? zero());
});
