/** Field selection and indexing. */
import type { Frame, Evaluator } from "./frame.ts";
import {
  CelFault,
  displayed,
  Double,
  ArrayList,
  ListValue,
  MapValue,
  noSuchKey,
  noSuchOverload,
  OptionalValue,
  typeName,
  Uint,
  type Value,
} from "../value/values.ts";

/** `operand.field`; for an optional operand the result is optional. */
export function selectStep(operand: Evaluator, name: string, cost: number): Evaluator {
  return (frame) => {
    const target = operand(frame);
    frame.spend(cost);
    if (target instanceof MapValue) {
      const value = target.field(name);
      if (value === undefined) throw noSuchKey(name);
      return value;
    }
    if (target instanceof OptionalValue) return optionalField(target, name);
    throw noSuchKey(name);
  };
}

/** `operand.?field`. */
export function optionalSelectStep(operand: Evaluator, name: string): Evaluator {
  return (frame) => {
    const target = operand(frame);
    frame.spend(1);
    return optionalField(target, name);
  };
}

function optionalField(target: Value, name: Value): OptionalValue {
  const inner = target instanceof OptionalValue ? target.value : target;
  if (inner === undefined) return OptionalValue.none;
  if (!(inner instanceof MapValue)) throw noSuchKey(name);
  const value = inner.find(name);
  return value === undefined ? OptionalValue.none : new OptionalValue(value);
}

/** `has(operand.field)`. */
export function testStep(operand: Evaluator, name: string): Evaluator {
  return (frame) => {
    let target = operand(frame);
    if (target instanceof OptionalValue) {
      if (target.value === undefined) return false;
      target = target.value;
    }
    return target instanceof MapValue && target.field(name) !== undefined;
  };
}

/** `operand[key]`. */
export function index(target: Value, key: Value): Value {
  if (target instanceof MapValue) {
    const value = target.find(key);
    if (value === undefined) throw noSuchKey(key);
    return value;
  }
  if (target instanceof ListValue) return target.at(position(target, key));
  if (target instanceof OptionalValue) return optionalIndex(target, key);
  throw noSuchKey(key);
}

/** `operand[?key]`. */
export function optionalIndex(target: Value, key: Value): OptionalValue {
  const inner = target instanceof OptionalValue ? target.value : target;
  if (inner === undefined) return OptionalValue.none;
  if (inner instanceof MapValue) return optionalField(inner, key);
  if (!(inner instanceof ListValue)) throw noSuchOverload();
  const at = wholeNumber(key);
  if (at === undefined || at < 0 || at >= inner.length) return OptionalValue.none;
  return new OptionalValue(inner.at(at));
}

function position(list: ListValue, key: Value): number {
  const isTaken = list.takesAnyNumber || typeof key === "number" || typeof key === "bigint";
  if (!isTaken) throw new CelFault(`unsupported index: ${displayed(key)}`);
  const at = wholeNumber(key);
  if (at === undefined) throw new CelFault(`unsupported index type '${typeName(key)}' in list`);
  if (at < 0 || at >= list.length) throw new CelFault(`index out of bounds: ${at}`);
  return at;
}

function wholeNumber(key: Value): number | undefined {
  if (typeof key === "number") return key;
  if (typeof key === "bigint" || key instanceof Uint) {
    return Number(typeof key === "bigint" ? key : key.value);
  }
  return key instanceof Double && Number.isInteger(key.value) ? key.value : undefined;
}

/** Appends in place to the list in the slot, to which nothing else refers. */
export function appendStep(slot: number, element: Evaluator, cost: number): Evaluator {
  return (frame: Frame) => {
    const list = frame.slots[slot];
    const value = element(frame);
    frame.spend(cost);
    if (!(list instanceof ArrayList)) throw noSuchOverload();
    (list.items as Value[]).push(value);
    return list;
  };
}
