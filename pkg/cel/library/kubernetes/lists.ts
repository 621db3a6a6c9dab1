/** Kubernetes' list library, and the sets library. */
import { define, type FunctionDeclaration, type Library, overload } from "../../check/declare.ts";
import { addInts, isInt, toUint } from "../../value/numbers.ts";
import { addTimes } from "../../value/time.ts";
import {
  CelFault,
  Double,
  Duration,
  equal,
  type ListValue,
  Uint,
  type Value,
} from "../../value/values.ts";
import { compare } from "../standard.ts";

const comparable = [
  "int",
  "uint",
  "double",
  "bool",
  "duration",
  "timestamp",
  "string",
  "bytes",
] as const;

function isSorted(list: ListValue): Value {
  for (let at = 1; at < list.length; at++) {
    if (compare(list.at(at - 1), list.at(at)) > 0) return false;
  }
  return true;
}

/** `min` and `max`. */
function minOrMax(name: "min" | "max"): (list: ListValue) => Value {
  const sign = name === "min" ? -1 : 1;
  return (list) => {
    if (list.length === 0) throw new CelFault(`${name} called on empty list`);
    let best = list.at(0);
    for (let at = 1; at < list.length; at++) {
      const next = list.at(at);
      if (compare(next, best) * sign > 0) best = next;
    }
    return best;
  };
}

const zeros: readonly (readonly [string, Value])[] = [
  ["int", 0],
  ["uint", new Uint(0n)],
  ["double", new Double(0)],
  ["duration", new Duration(0n)],
];

function add(left: Value, right: Value): Value {
  if (isInt(left) && isInt(right)) return addInts(left, right);
  if (left instanceof Uint && right instanceof Uint) return toUint(left.value + right.value);
  if (left instanceof Double && right instanceof Double)
    return new Double(left.value + right.value);
  return addTimes(left, right);
}

/** The sum from the first element on; `zero` of the declared type only for an empty list. */
function sum(list: ListValue, zero: Value): Value {
  if (list.length === 0) return zero;
  let total = list.at(0);
  for (let at = 1; at < list.length; at++) total = add(total, list.at(at));
  return total;
}

function indexOf(list: ListValue, item: Value): Value {
  for (let at = 0; at < list.length; at++) if (equal(list.at(at), item)) return at;
  return -1;
}

function lastIndexOf(list: ListValue, item: Value): Value {
  for (let at = list.length - 1; at >= 0; at--) if (equal(list.at(at), item)) return at;
  return -1;
}

function elementwise(
  name: string,
  signature: (type: string) => string,
  implementation: (list: ListValue) => Value,
): FunctionDeclaration {
  return define(
    name,
    ...comparable.map((type) => overload(`list_${type}_${name}`, signature(type), implementation)),
  );
}

function includesAll(list: ListValue, part: ListValue): boolean {
  for (const item of part) if (indexOf(list, item) === -1) return false;
  return true;
}

export const listLibrary: Library = {
  functions: [
    elementwise("isSorted", (type) => `list(${type}).() -> bool`, isSorted),
    elementwise("min", (type) => `list(${type}).() -> ${type}`, minOrMax("min")),
    elementwise("max", (type) => `list(${type}).() -> ${type}`, minOrMax("max")),
    define(
      "sum",
      ...zeros.map(([type, zero]) =>
        overload(`list_${type}_sum`, `list(${type}).() -> ${type}`, (list: ListValue) =>
          sum(list, zero),
        ),
      ),
    ),
    define("indexOf", overload("list_a_index_of_int", "list(A).(A) -> int", indexOf)),
    define("lastIndexOf", overload("list_a_last_index_of_int", "list(A).(A) -> int", lastIndexOf)),
    define(
      "sets.contains",
      overload("list_sets_contains_list", "(list(A), list(A)) -> bool", includesAll),
    ),
    define(
      "sets.equivalent",
      overload(
        "list_sets_equivalent_list",
        "(list(A), list(A)) -> bool",
        (left: ListValue, right: ListValue) => includesAll(left, right) && includesAll(right, left),
      ),
    ),
    define(
      "sets.intersects",
      overload(
        "list_sets_intersects_list",
        "(list(A), list(A)) -> bool",
        (left: ListValue, right: ListValue) =>
          [...left].some((item) => indexOf(right, item) !== -1),
      ),
    ),
  ],
};
