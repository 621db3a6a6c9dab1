/** The standard operators and functions of CEL. */
import { index, optionalIndex } from "../runtime/access.ts";
import {
  define,
  type FunctionDeclaration,
  type Library,
  overload,
  readType,
} from "../check/declare.ts";
import {
  addInts,
  divide,
  isInt,
  multiply,
  negate,
  remainder,
  subtract as subtractNumbers,
  toUint,
} from "../value/numbers.ts";
import { codePoints } from "../syntax/source.ts";
import { addTimes, subtractTimes } from "../value/time.ts";
import {
  CelFault,
  compareNumbers,
  displayed,
  Double,
  Duration,
  HashMap,
  equal,
  isNumeric,
  ListValue,
  MapValue,
  noSuchOverload,
  Opaque,
  Timestamp,
  typeName,
  Uint,
  type Value,
} from "../value/values.ts";
import { compareUtf8 } from "#base";

function add(left: Value, right: Value): Value {
  if (isInt(left) && isInt(right)) return addInts(left, right);
  if (typeof left === "string" && typeof right === "string") return left + right;
  if (left instanceof Double && right instanceof Double)
    return new Double(left.value + right.value);
  if (left instanceof Uint && right instanceof Uint) return toUint(left.value + right.value);
  if (left instanceof ListValue && right instanceof ListValue) return left.concat(right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return Buffer.concat([left, right]);
  }
  return addTimes(left, right);
}

function subtract(left: Value, right: Value): Value {
  const timed = left instanceof Timestamp || left instanceof Duration;
  return timed ? subtractTimes(left, right) : subtractNumbers(left, right);
}

/** -1, 0, 1, or NaN for unordered values. @throws CelFault for types without an order */
export function compare(left: Value, right: Value): number {
  if (isNumeric(left) && isNumeric(right)) return compareNumbers(left, right);
  if (typeof left === "string" && typeof right === "string") return compareTexts(left, right);
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  if (left instanceof Timestamp && right instanceof Timestamp) {
    return Math.sign(left.seconds - right.seconds || left.nanos - right.nanos);
  }
  if (left instanceof Duration && right instanceof Duration) {
    return left.nanos < right.nanos ? -1 : Number(left.nanos > right.nanos);
  }
  throw noSuchOverload();
}

/** Compares by code points, which is the order of UTF-8 bytes. */
function compareTexts(left: string, right: string): number {
  return left === right ? 0 : Math.sign(compareUtf8(left, right));
}

/** The result of `compare` for the operators, which cannot order NaN. @throws CelFault */
function ordered(left: Value, right: Value): number {
  const result = compare(left, right);
  if (Number.isNaN(result)) throw new CelFault("NaN values cannot be ordered");
  return result;
}

const order = {
  less: (left: Value, right: Value): Value =>
    typeof left === "number" && typeof right === "number" ? left < right : ordered(left, right) < 0,
  lessOrEqual: (left: Value, right: Value): Value =>
    typeof left === "number" && typeof right === "number"
      ? left <= right
      : ordered(left, right) <= 0,
  greater: (left: Value, right: Value): Value =>
    typeof left === "number" && typeof right === "number" ? left > right : ordered(left, right) > 0,
  greaterOrEqual: (left: Value, right: Value): Value =>
    typeof left === "number" && typeof right === "number"
      ? left >= right
      : ordered(left, right) >= 0,
};

/** The operator, which requires the left operand's type to support it. */
function operator(
  name: string,
  kinds: readonly string[],
  implementation: (left: Value, right: Value) => Value,
): (left: Value, right: Value) => Value {
  const known = new Set(kinds.map((kind) => readType(kind).name));
  return (left, right) => {
    if (typeof left !== "number" && !known.has(typeName(left))) {
      throw new CelFault(`no such overload: ${name}(${typeName(left)}, ${typeName(right)})`);
    }
    return implementation(left, right);
  };
}

/** Equality, which is an error between an opaque value and one of another type. */
function equals(left: Value, right: Value): Value {
  if (left instanceof Opaque && right !== null) {
    const isOther = !(right instanceof Opaque) || right.type !== left.type;
    if (isOther || left.type.startsWith("kubernetes.authorization.") || isComputed(right)) {
      throw noSuchOverload();
    }
  }
  return equal(left, right);
}

/** Whether it is a computed quantity: a pointer in Kubernetes, which its equality does not accept. */
function isComputed({ content }: Opaque): boolean {
  return typeof content === "object" && content !== null && "isComputed" in content
    ? content.isComputed === true
    : false;
}

function size(value: Value): Value {
  if (typeof value === "string") return codePoints(value);
  if (value instanceof ListValue || value instanceof Uint8Array) return value.length;
  if (value instanceof MapValue) return value.size;
  throw new CelFault("no such overload: size");
}

function contained(item: Value, container: Value): Value {
  if (container instanceof MapValue) return container.contains(item);
  if (!(container instanceof ListValue)) throw noSuchOverload();
  for (let at = 0; at < container.length; at++) {
    if (equal(item, container.at(at))) return true;
  }
  return false;
}

function insert(map: Value, ...rest: readonly Value[]): Value {
  // Only the fold refers to the map, so that it is modified in place.
  if (!(map instanceof HashMap)) throw noSuchOverload();
  const [key = null, value] = rest;
  const add = (name: Value, member: Value): void => {
    if (map.find(name) !== undefined) {
      throw new CelFault(`insert failed: key ${displayed(name)} already exists`);
    }
    map.add(name, member);
  };
  if (value !== undefined) add(key, value);
  else if (key instanceof MapValue) {
    for (const name of key.keys()) add(name, key.find(name) ?? null);
  } else throw noSuchOverload();
  return map;
}

const comparable = [
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "timestamp",
  "duration",
] as const;
const crossTypeComparisons = [
  ["int", "uint"],
  ["int", "double"],
  ["uint", "int"],
  ["uint", "double"],
  ["double", "int"],
  ["double", "uint"],
] as const;

function relation(
  name: string,
  id: string,
  order: (left: Value, right: Value) => Value,
): FunctionDeclaration {
  const implementation = operator(name, comparable, order);
  return define(
    name,
    ...comparable.map((type) =>
      overload(`${id}_${type}`, `(${type}, ${type}) -> bool`, implementation),
    ),
    ...crossTypeComparisons.map(([left, right]) =>
      overload(`${id}_${left}_${right}`, `(${left}, ${right}) -> bool`, implementation),
    ),
  );
}

function arithmetic(
  name: string,
  id: string,
  options: {
    readonly types: readonly string[];
    readonly implementation: (left: Value, right: Value) => Value;
    readonly more?: readonly (readonly [string, string])[];
  },
): FunctionDeclaration {
  const { types, more = [] } = options;
  const kinds = [...types, ...more.map(([, signature]) => /\w+/.exec(signature)?.[0] ?? "")];
  const implementation = operator(name, kinds, options.implementation);
  return define(
    name,
    ...types.map((type) =>
      overload(`${id}_${type.split("(")[0]}`, `(${type}, ${type}) -> ${type}`, implementation),
    ),
    ...more.map(([suffix, signature]) => overload(`${id}_${suffix}`, signature, implementation)),
  );
}

const numbers = ["int", "uint", "double"];

const operators: readonly FunctionDeclaration[] = [
  define("_&&_", overload("logical_and", "(bool, bool) -> bool", unreachable)),
  define("_||_", overload("logical_or", "(bool, bool) -> bool", unreachable)),
  define("_?_:_", overload("conditional", "(bool, A, A) -> A", unreachable)),
  define("@not_strictly_false", overload("not_strictly_false", "(bool) -> bool", unreachable)),
  define("!_", overload("logical_not", "(bool) -> bool", not)),
  define("_==_", overload("equals", "(A, A) -> bool", equals)),
  define(
    "_!=_",
    overload("not_equals", "(A, A) -> bool", (left: Value, right: Value) => !equal(left, right)),
  ),
  relation("_<_", "less", order.less),
  relation("_<=_", "less_equals", order.lessOrEqual),
  relation("_>_", "greater", order.greater),
  relation("_>=_", "greater_equals", order.greaterOrEqual),
  arithmetic("_+_", "add", {
    types: [...numbers, "string", "bytes", "list(A)", "duration"],
    implementation: add,
    more: [
      ["timestamp_duration", "(timestamp, duration) -> timestamp"],
      ["duration_timestamp", "(duration, timestamp) -> timestamp"],
    ],
  }),
  arithmetic("_-_", "subtract", {
    types: [...numbers, "duration"],
    implementation: subtract,
    more: [
      ["timestamp_timestamp", "(timestamp, timestamp) -> duration"],
      ["timestamp_duration", "(timestamp, duration) -> timestamp"],
    ],
  }),
  arithmetic("_*_", "multiply", { types: numbers, implementation: multiply }),
  arithmetic("_/_", "divide", { types: numbers, implementation: divide }),
  arithmetic("_%_", "modulo", { types: ["int", "uint"], implementation: remainder }),
  define(
    "-_",
    overload("negate_int", "(int) -> int", negate),
    overload("negate_double", "(double) -> double", negate),
  ),
  define(
    "_[_]",
    overload("index_list", "(list(A), int) -> A", index),
    overload("index_map", "(map(A, B), A) -> B", index),
    overload("optional_list_index_int", "(optional(list(A)), int) -> optional(A)", index),
    overload("optional_map_index_value", "(optional(map(A, B)), A) -> optional(B)", index),
  ),
  define(
    "_[?_]",
    overload("list_optindex_optional_int", "(list(A), int) -> optional(A)", optionalIndex),
    overload("map_optindex_optional_value", "(map(A, B), A) -> optional(B)", optionalIndex),
    overload(
      "optional_list_optindex_optional_int",
      "(optional(list(A)), int) -> optional(A)",
      optionalIndex,
    ),
    overload(
      "optional_map_optindex_optional_value",
      "(optional(map(A, B)), A) -> optional(B)",
      optionalIndex,
    ),
  ),
  define(
    "@in",
    overload("in_list", "(A, list(A)) -> bool", contained),
    overload("in_map", "(A, map(A, B)) -> bool", contained),
  ),
  define(
    "cel.@mapInsert",
    overload("map_insert_key_value", "(map(A, B), A, B) -> map(A, B)", insert),
    overload("map_insert_map", "(map(A, B), map(A, B)) -> map(A, B)", insert),
  ),
];

function not(value: Value): Value {
  if (typeof value !== "boolean") throw noSuchOverload();
  return !value;
}

/** The planner evaluates these calls itself. */
function unreachable(): never {
  throw new CelFault("no such overload");
}

const sized = ["string", "bytes", "list(A)", "map(A, B)"];

const sizes = define(
  "size",
  ...sized.map((type) => overload(`size_${type.split("(")[0]}`, `(${type}) -> int`, size)),
  ...sized.map((type) => overload(`${type.split("(")[0]}_size`, `${type}.() -> int`, size)),
);

const typeNames = [
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "null",
  "timestamp",
  "duration",
  "list(dyn)",
  "map(dyn, dyn)",
  "type",
];

export const standardLibrary: Library = {
  functions: [...operators, sizes],
  types: typeNames.map(readType),
};
