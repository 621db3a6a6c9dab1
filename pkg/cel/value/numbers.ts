/** Arithmetic of int and uint, where overflow is an error. */
import { canonical, CelFault, Double, noSuchOverload, Uint, type Value } from "./values.ts";

const maxInt = 2n ** 63n - 1n;
const minInt = -(2n ** 63n);
const maxUint = 2n ** 64n - 1n;

type Int = number | bigint;

/** @throws CelFault outside int64 */
export function toInt(value: bigint): Int {
  if (value > maxInt || value < minInt) throw new CelFault("integer overflow");
  return canonical(value);
}

/** @throws CelFault outside uint64 */
export function toUint(value: bigint): Uint {
  if (value > maxUint || value < 0n) throw new CelFault("unsigned integer overflow");
  return new Uint(value);
}

export function isInt(value: Value): value is Int {
  return typeof value === "number" || typeof value === "bigint";
}

export function addInts(left: Int, right: Int): Int {
  if (typeof left === "number" && typeof right === "number") {
    const sum = left + right;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return toInt(BigInt(left) + BigInt(right));
}

function subtractInts(left: Int, right: Int): Int {
  if (typeof left === "number" && typeof right === "number") {
    const difference = left - right;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return toInt(BigInt(left) - BigInt(right));
}

function multiplyInts(left: Int, right: Int): Int {
  if (typeof left === "number" && typeof right === "number") {
    const product = left * right;
    // Adding 0 converts -0 to 0.
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return toInt(BigInt(left) * BigInt(right));
}

export function negate(value: Value): Value {
  if (value instanceof Double) return new Double(-value.value);
  if (!isInt(value)) throw noSuchOverload();
  return typeof value === "number" ? 0 - value : toInt(-value);
}

interface Operation {
  readonly int: (left: Int, right: Int) => Int;
  readonly uint?: (left: bigint, right: bigint) => bigint;
  readonly double?: (left: number, right: number) => number;
}

const subtraction: Operation = {
  int: subtractInts,
  uint: (left, right) => left - right,
  double: (left, right) => left - right,
};
const multiplication: Operation = {
  int: multiplyInts,
  uint: (left, right) => left * right,
  double: (left, right) => left * right,
};
const division: Operation = {
  int: (left, right) => {
    if (right === 0) throw new CelFault("division by zero");
    if (typeof left === "number" && typeof right === "number") return Math.trunc(left / right) + 0;
    return toInt(BigInt(left) / BigInt(right));
  },
  uint: (left, right) => {
    if (right === 0n) throw new CelFault("division by zero");
    return left / right;
  },
  double: (left, right) => left / right,
};
const modulus: Operation = {
  int: (left, right) => {
    if (right === 0) throw new CelFault("modulus by zero");
    if (typeof left === "number" && typeof right === "number") return (left % right) + 0;
    if (left === minInt && right === -1) throw new CelFault("integer overflow");
    return toInt(BigInt(left) % BigInt(right));
  },
  uint: (left, right) => {
    if (right === 0n) throw new CelFault("modulus by zero");
    return left % right;
  },
};

function binary(operation: Operation): (left: Value, right: Value) => Value {
  return (left, right) => {
    if (isInt(left) && isInt(right)) return operation.int(left, right);
    if (left instanceof Uint && right instanceof Uint && operation.uint !== undefined) {
      return toUint(operation.uint(left.value, right.value));
    }
    if (left instanceof Double && right instanceof Double && operation.double !== undefined) {
      return new Double(operation.double(left.value, right.value));
    }
    throw noSuchOverload();
  };
}

export const subtract = binary(subtraction);
export const multiply = binary(multiplication);
export const divide = binary(division);
export const remainder = binary(modulus);
