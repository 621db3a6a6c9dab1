/** Built-in functions of Go's templates. */
import { RenderFault } from "./fault.ts";
import { printf } from "./printf.ts";
import type { TemplateFunctions } from "./execute.ts";
import { isDict, isNil, isTruthy, kindOf, printed, textOf } from "./values.ts";

export const goFunctions: TemplateFunctions = {
  // `and` and `or` are implemented by the execution, because they evaluate their arguments one by
  // one.
  and: () => undefined,
  or: () => undefined,
  not: (value) => !isTruthy(value),
  eq: (value, ...others) => {
    if (others.length === 0) throw new RenderFault("eq: missing argument for comparison");
    return others.some((other) => isEqual(value, other));
  },
  ne: (left, right) => !isEqual(left, right),
  lt: (left, right) => order(left, right) < 0,
  le: (left, right) => order(left, right) <= 0,
  gt: (left, right) => order(left, right) > 0,
  ge: (left, right) => order(left, right) >= 0,
  len: (value) => {
    if (typeof value === "string") return Buffer.byteLength(value);
    if (Array.isArray(value)) return value.length;
    if (isDict(value)) return Object.keys(value).length;
    throw new RenderFault(`len of type ${kindOf(value)}`);
  },
  index: (value, ...keys) => keys.reduce(elementOf, value),
  slice: (value, from = 0, to) => {
    if (typeof value !== "string" && !Array.isArray(value)) {
      throw new RenderFault(`slice of type ${kindOf(value)}`);
    }
    const end = to ?? value.length;
    const isWithin = [from, end].every((at) => Number.isInteger(at) && Number(at) >= 0);
    if (!isWithin || Number(from) > Number(end) || Number(end) > value.length) {
      throw new RenderFault("slice: index out of range");
    }
    return value.slice(Number(from), Number(end));
  },
  print: (...values) => spaced(values),
  println: (...values) => `${values.map((value) => printed(value, "<nil>")).join(" ")}\n`,
  printf: (format, ...values) => printf(textOf(format), values),
  html: (...values) => escaped(spaced(values)),
  urlquery: (...values) => encodeURIComponent(spaced(values)).replaceAll("%20", "+"),
};

/** Concatenates values, with spaces between adjacent values that are not strings. */
function spaced(values: readonly unknown[]): string {
  return values
    .map((value, at) => {
      const isApart = at > 0 && typeof value !== "string" && typeof values[at - 1] !== "string";
      return `${isApart ? " " : ""}${printed(value, "<nil>")}`;
    })
    .join("");
}

const entities: Readonly<Record<string, string>> = {
  "<": "&lt;",
  ">": "&gt;",
  "&": "&amp;",
  "'": "&#39;",
  '"': "&#34;",
};

function escaped(text: string): string {
  return text.replace(/[<>&'"]/g, (character) => entities[character]!);
}

function elementOf(value: unknown, key: unknown): unknown {
  if (isNil(value)) throw new RenderFault("index of untyped nil");
  if (isDict(value)) {
    if (typeof key !== "string")
      throw new RenderFault(`index: a map has no key of type ${kindOf(key)}`);
    return Object.hasOwn(value, key) ? value[key] : undefined;
  }
  if (typeof value !== "string" && !Array.isArray(value)) {
    throw new RenderFault(`can't index item of type ${kindOf(value)}`);
  }
  const at = typeof key === "number" ? key : -1;
  if (!Number.isInteger(at) || at < 0 || at >= value.length) {
    throw new RenderFault(`index out of range: ${printed(key)}`);
  }
  return typeof value === "string" ? value.charCodeAt(at) : (value[at] as unknown);
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function isEqual(left: unknown, right: unknown): boolean {
  if (isNil(left) || isNil(right)) return isNil(left) && isNil(right);
  if (isNumeric(left) && isNumeric(right)) return Number(left) === Number(right);
  if (typeof left === "object" || typeof left !== typeof right) {
    throw new RenderFault("incompatible types for comparison");
  }
  return left === right;
}

function order(left: unknown, right: unknown): number {
  if (isNumeric(left) && isNumeric(right)) return Number(left) - Number(right);
  if (typeof left !== "string" || typeof right !== "string") {
    throw new RenderFault("incompatible types for comparison");
  }
  return left < right ? -1 : left > right ? 1 : 0;
}
