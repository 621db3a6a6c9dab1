import { printJson } from "#base";
import {
  compareValues,
  elementsOf,
  type Filter,
  isObject,
  isTrue,
  type Run,
  RunFault,
  typeName,
} from "./run.ts";

type Builtin = (args: readonly Filter[]) => Filter;

const plain =
  (of: (value: unknown) => unknown): Builtin =>
  () =>
  (input, run) => {
    run.walk(input);
    return [of(input)];
  };

const ofText =
  (of: (text: string, argument: string) => boolean | string): Builtin =>
  ([argument]) =>
  (input, run) =>
    argument!(input, run).map((value) => {
      run.walk(input, value);
      if (typeof input !== "string" || typeof value !== "string") {
        throw new RunFault(`expected strings but got: ${typeName(input)} and ${typeName(value)}`);
      }
      return of(input, value);
    });

/** The functions of queries by name and number of arguments. */
export const builtins: Readonly<Record<string, Builtin>> = {
  "empty/0": () => () => [],
  "not/0": plain((value) => !isTrue(value)),
  "length/0": plain(lengthOf),
  "keys/0": plain((value) => {
    if (isObject(value)) return Object.keys(value).sort();
    return elementsOf(value).map((_, index) => index);
  }),
  "values/0": () => (input) => (input === null || input === undefined ? [] : [input]),
  "type/0": plain(typeName),
  "tostring/0": plain((value) => (typeof value === "string" ? value : printJson(value))),
  "tonumber/0": plain(toNumber),
  "first/0": plain((value) => elementsOf(value)[0] ?? null),
  "last/0": plain((value) => elementsOf(value).at(-1) ?? null),
  "any/0": plain((value) => elementsOf(value).some(isTrue)),
  "all/0": plain((value) => elementsOf(value).every(isTrue)),
  "add/0": plain((value) => elementsOf(value).reduce<unknown>(sum, null)),
  "ascii_downcase/0": plain((value) => textOf(value).toLowerCase()),
  "ascii_upcase/0": plain((value) => textOf(value).toUpperCase()),
  "select/1":
    ([condition]) =>
    (input, run) =>
      condition!(input, run).flatMap((value) => (isTrue(value) ? [input] : [])),
  "map/1":
    ([each]) =>
    (input, run) => [countedElements(input, run).flatMap((value) => each!(value, run))],
  "any/1":
    ([each]) =>
    (input, run) => [countedElements(input, run).some((value) => each!(value, run).some(isTrue))],
  "all/1":
    ([each]) =>
    (input, run) => [countedElements(input, run).every((value) => each!(value, run).every(isTrue))],
  "has/1":
    ([key]) =>
    (input, run) =>
      key!(input, run).map((name) => hasKey(input, name)),
  "startswith/1": ofText((text, prefix) => text.startsWith(prefix)),
  "endswith/1": ofText((text, suffix) => text.endsWith(suffix)),
  "ltrimstr/1": ofText((text, prefix) =>
    text.startsWith(prefix) ? text.slice(prefix.length) : text,
  ),
  "rtrimstr/1": ofText((text, suffix) =>
    suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  ),
};

function countedElements(input: unknown, run: Run): readonly unknown[] {
  const elements = elementsOf(input);
  run.step(elements.length);
  return elements;
}

const numeric: Readonly<Record<string, (left: number, right: number) => number>> = {
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => Math.trunc(left) % Math.trunc(right),
};

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  "==": (order) => order === 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** The value of a binary operator. */
export function operate(operator: string, left: unknown, right: unknown): unknown {
  const compare = comparisons[operator];
  if (compare !== undefined) return compare(compareValues(left, right));
  if (operator === "+") return sum(left, right);
  const calculate = numeric[operator];
  if (calculate === undefined || typeof left !== "number" || typeof right !== "number") {
    throw new RunFault(`cannot apply ${operator} to: ${typeName(left)} and ${typeName(right)}`);
  }
  if (right === 0 && (operator === "/" || operator === "%")) throw new RunFault("division by zero");
  return calculate(left, right);
}

/** Maximum length of a string concatenated by `+`. */
const maxTextLength = 1_000_000;

function sum(left: unknown, right: unknown): unknown {
  if (left === null) return right;
  if (right === null) return left;
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (typeof left === "string" && typeof right === "string") {
    if (left.length + right.length > maxTextLength) throw new RunFault("text is too long");
    return left + right;
  }
  throw new RunFault(`cannot add: ${typeName(left)} and ${typeName(right)}`);
}

function lengthOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "string") return [...value].length;
  if (typeof value === "number") return Math.abs(value);
  return elementsOf(value).length;
}

function hasKey(value: unknown, key: unknown): boolean {
  if (isObject(value) && typeof key === "string") return Object.hasOwn(value, key);
  if (Array.isArray(value) && typeof key === "number") return key >= 0 && key < value.length;
  throw new RunFault(`cannot check whether ${typeName(value)} has a ${typeName(key)} key`);
}

function textOf(value: unknown): string {
  if (typeof value !== "string")
    throw new RunFault(`expected a string but got: ${typeName(value)}`);
  return value;
}

function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  const text = textOf(value);
  if (!/^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(text)) {
    throw new RunFault(`cannot parse ${JSON.stringify(text)} as a number`);
  }
  return Number(text);
}
