/** Evaluation of jq queries: step limit, and operations on values. */

import { costOf } from "../cost.ts";

/** An error of a query on one object, such as iterating over a null. */
export class RunFault extends Error {
  override readonly name = "RunFault";
}

/** The end of a run that costs too much; unlike other faults, the query cannot handle it. */
export class CostFault extends RunFault {}

/** Maximum number of steps of one run. */
const maxSteps = 100_000;

/** Counts the steps of one run. */
export class Run {
  private steps = 0;

  /** @throws CostFault after too many steps */
  step(count = 1): void {
    this.steps += count;
    if (this.steps > maxSteps) throw new CostFault(`query takes more than ${maxSteps} steps`);
  }

  /** Counts going through values before it is done. */
  walk(...values: readonly unknown[]): void {
    for (const value of values) this.step(costOf(value, maxSteps - this.steps));
  }
}

/** A compiled part of a query: from one input to any number of outputs. */
export type Filter = (input: unknown, run: Run) => readonly unknown[];

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Only null and false are false. */
export function isTrue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false;
}

export function typeName(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? "array" : typeof value === "bigint" ? "number" : typeof value;
}

/** jq's order of types: null, false, true, numbers, strings, arrays, objects. */
function rank(value: unknown): number {
  const name = typeName(value);
  if (name === "boolean") return value === true ? 2 : 1;
  return ["null", "false", "true", "number", "string", "array", "object"].indexOf(name);
}

/** Negative, 0 or positive, in jq's order of values. */
export function compareValues(left: unknown, right: unknown): number {
  const ranks = rank(left) - rank(right);
  if (ranks !== 0) return ranks;
  if (typeName(left) === "number") return Number(left) - Number(right);
  if (typeof left === "string") return left < (right as string) ? -1 : left === right ? 0 : 1;
  if (Array.isArray(left)) return compareLists(left, right as readonly unknown[]);
  return isObject(left) ? compareObjects(left, right as Readonly<Record<string, unknown>>) : 0;
}

function compareLists(left: readonly unknown[], right: readonly unknown[]): number {
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const order = compareValues(left[at], right[at]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareObjects(
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
): number {
  const keys = Object.keys(left).sort();
  const order = compareLists(keys, Object.keys(right).sort());
  if (order !== 0) return order;
  return compareLists(
    keys.map((key) => left[key]),
    keys.map((key) => right[key]),
  );
}

export function fieldOf(value: unknown, name: string): unknown {
  if (value === null || value === undefined) return null;
  if (!isObject(value)) throw new RunFault(`expected an object but got: ${typeName(value)}`);
  return Object.hasOwn(value, name) ? plainNumber(value[name]) : null;
}

/** Int64s of objects in this process are bigints. */
function plainNumber(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : (value ?? null);
}

/** `.[index]` of an object, an array or null. */
export function elementOf(value: unknown, index: unknown): unknown {
  if (typeof index === "string") return fieldOf(value, index);
  if (typeof index !== "number") throw new RunFault(`cannot index with ${typeName(index)}`);
  if (value === null || value === undefined) return null;
  if (!Array.isArray(value)) throw new RunFault(`expected an array but got: ${typeName(value)}`);
  return value.at(Math.floor(index)) ?? null;
}

/** Elements of an array, or values of an object. */
export function elementsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isObject(value)) return Object.values(value);
  throw new RunFault(`cannot iterate over: ${typeName(value)}`);
}

/** A filter whose runs and outputs are counted. */
export function metered(filter: Filter): Filter {
  return (input, run) => {
    run.step();
    const outputs = filter(input, run);
    run.step(outputs.length);
    return outputs;
  };
}
