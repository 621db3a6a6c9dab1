/** The optional types library. */
import { define, type Library, overload, readType } from "../check/declare.ts";
import { CelFault, ListValue, MapValue, OptionalValue, type Value } from "../value/values.ts";
import { ArrayList, Double, Uint, Duration } from "../value/values.ts";

function isZero(value: Value): boolean {
  if (value instanceof ListValue || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof MapValue) return value.size === 0;
  if (value instanceof Double) return value.value === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof OptionalValue) return value.value === undefined;
  return value === null || value === false || value === 0 || value === "";
}

/** `or` and `orValue` are lazy and evaluated by the planner: these declare only their types. */
function lazy(): never {
  throw new CelFault("no such overload");
}

export const optionalLibrary: Library = {
  functions: [
    define(
      "optional.none",
      overload("optional_none", "() -> optional(A)", () => OptionalValue.none),
    ),
    define(
      "optional.of",
      overload("optional_of", "(A) -> optional(A)", (value: Value) => new OptionalValue(value)),
    ),
    define(
      "optional.ofNonZeroValue",
      overload("optional_ofNonZeroValue", "(A) -> optional(A)", (value: Value) =>
        isZero(value) ? OptionalValue.none : new OptionalValue(value),
      ),
    ),
    define(
      "optional.unwrap",
      overload("optional_unwrap", "(list(optional(A))) -> list(A)", unwrapAll),
    ),
    define(
      "unwrapOpt",
      overload("optional_unwrapOpt", "list(optional(A)).() -> list(A)", unwrapAll),
    ),
    define(
      "hasValue",
      overload(
        "optional_hasValue",
        "optional(A).() -> bool",
        ({ value }: OptionalValue) => value !== undefined,
      ),
    ),
    define(
      "value",
      overload("optional_value", "optional(A).() -> A", ({ value }: OptionalValue) => {
        if (value === undefined) throw new CelFault("optional.none() dereference");
        return value;
      }),
    ),
    define(
      "or",
      overload("optional_or_optional", "optional(A).(optional(A)) -> optional(A)", lazy),
    ),
    define(
      "first",
      overload("list_first", "list(A).() -> optional(A)", (list: ListValue) =>
        list.length === 0 ? OptionalValue.none : new OptionalValue(list.at(0)),
      ),
    ),
    define(
      "last",
      overload("list_last", "list(A).() -> optional(A)", (list: ListValue) =>
        list.length === 0 ? OptionalValue.none : new OptionalValue(list.at(list.length - 1)),
      ),
    ),
    define("orValue", overload("optional_orValue_value", "optional(A).(A) -> A", lazy)),
  ],
  types: [readType("optional(dyn)")],
};

function unwrapAll(list: ListValue): Value {
  const items: Value[] = [];
  for (const item of list) {
    if (item instanceof OptionalValue && item.value !== undefined) items.push(item.value);
  }
  return new ArrayList(items);
}
