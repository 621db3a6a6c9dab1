/**
 * Functions of the Sprig library, which KWOK's templates have as well: those on strings, lists and
 * numbers.
 */
import { createHash } from "node:crypto";
import { printJson, parseJsonText } from "#base";
import { goQuote } from "#meta";
import { RenderFault } from "./fault.ts";
import type { TemplateFunction, TemplateFunctions } from "./execute.ts";
import {
  type Dict,
  intOf,
  isDict,
  isNil,
  isTruthy,
  kindOf,
  maxListLength,
  maxTextLength,
  numberOf,
  textOf,
} from "./values.ts";

function choices(): TemplateFunctions {
  return {
    default: (fallback, value) => (isTruthy(value) ? value : fallback),
    empty: (value) => !isTruthy(value),
    coalesce: (...values) => values.find(isTruthy),
    ternary: (yes, no, condition) => (condition === true ? yes : no),
    all: (...values) => values.every(isTruthy),
    any: (...values) => values.some(isTruthy),
    fail: (message) => {
      throw new RenderFault(textOf(message));
    },
    kindOf: (value) => kindOf(value),
    kindIs: (kind, value) => kind === kindOf(value),
  };
}

/** A function whose last argument is the string that it transforms. */
const onText =
  (of: (text: string, ...args: readonly string[]) => unknown): TemplateFunction =>
  (...values) => {
    const args = values.map(textOf);
    return of(args.at(-1) ?? "", ...args.slice(0, -1));
  };

function texts(): TemplateFunctions {
  return {
    toString: onText((text) => text),
    quote: (...values) =>
      values
        .filter((value) => !isNil(value))
        .map((value) => goQuote(textOf(value)))
        .join(" "),
    squote: (...values) =>
      values
        .filter((value) => !isNil(value))
        .map((value) => `'${textOf(value)}'`)
        .join(" "),
    upper: onText((text) => text.toUpperCase()),
    lower: onText((text) => text.toLowerCase()),
    trim: onText((text) => text.trim()),
    trimPrefix: onText((text, prefix = "") =>
      text.startsWith(prefix) ? text.slice(prefix.length) : text,
    ),
    trimSuffix: onText((text, suffix = "") =>
      suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
    ),
    hasPrefix: onText((text, prefix = "") => text.startsWith(prefix)),
    hasSuffix: onText((text, suffix = "") => text.endsWith(suffix)),
    contains: onText((text, part = "") => text.includes(part)),
    replace: onText((text, old = "", replacement = "") => replaced(text, old, replacement)),
    trunc: (length, text) => {
      const count = intOf(length);
      return count < 0 ? textOf(text).slice(count) : textOf(text).slice(0, count);
    },
    repeat: (count, text) => repeated(textOf(text), intOf(count)),
    nospace: onText((text) => text.replace(/\s/g, "")),
    indent: (width, text) => indented(textOf(text), intOf(width)),
    nindent: (width, text) => `\n${indented(textOf(text), intOf(width))}`,
    b64enc: onText((text) => Buffer.from(text).toString("base64")),
    b64dec: onText((text) => Buffer.from(text, "base64").toString()),
    sha256sum: onText((text) => createHash("sha256").update(text).digest("hex")),
    toJson: (value) => printJson(value ?? null),
    fromJson: onText((text) => {
      try {
        return parseJsonText(text) as unknown;
      } catch {
        return undefined;
      }
    }),
  };
}

function replaced(text: string, old: string, replacement: string): string {
  const parts = text.split(old);
  if (text.length + parts.length * replacement.length > maxTextLength) {
    throw new RenderFault("replace: text is too long");
  }
  return parts.join(replacement);
}

function repeated(text: string, count: number): string {
  if (count < 0 || text.length * count > maxTextLength)
    throw new RenderFault("repeat: text is too long");
  return text.repeat(count);
}

function indented(text: string, width: number): string {
  const pad = repeated(" ", width);
  return pad + replaced(text, "\n", `\n${pad}`);
}

const folded =
  (convert: (value: unknown) => number, of: (left: number, right: number) => number) =>
  (...values: readonly unknown[]) => {
    if (values.length === 0) throw new RenderFault("a number is missing");
    return values.map(convert).reduce((left, right) => of(left, right));
  };

function divided(left: number, right: number): number {
  if (right === 0) throw new RenderFault("division by zero");
  return left / right;
}

function numbers(): TemplateFunctions {
  return {
    int: intOf,
    int64: intOf,
    float64: numberOf,
    add: folded(intOf, (left, right) => left + right),
    add1: (value) => intOf(value) + 1,
    sub: folded(intOf, (left, right) => left - right),
    mul: folded(intOf, (left, right) => left * right),
    div: folded(intOf, (left, right) => Math.trunc(divided(left, right))),
    mod: folded(intOf, (left, right) => left - Math.trunc(divided(left, right)) * right),
    max: folded(intOf, Math.max),
    min: folded(intOf, Math.min),
    addf: folded(numberOf, (left, right) => left + right),
    subf: folded(numberOf, (left, right) => left - right),
    mulf: folded(numberOf, (left, right) => left * right),
    divf: folded(numberOf, divided),
    floor: (value) => Math.floor(numberOf(value)),
    ceil: (value) => Math.ceil(numberOf(value)),
    round: (value, digits) =>
      Number(numberOf(value).toFixed(Math.min(Math.max(intOf(digits), 0), 20))),
  };
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isNil(value)) return [];
  throw new RenderFault(`expected a list but got ${kindOf(value)}`);
}

function counted(count: number): number {
  if (count > maxListLength) throw new RenderFault(`list is longer than ${maxListLength}`);
  return Math.max(count, 0);
}

function lists(): TemplateFunctions {
  return {
    list: (...values) => values,
    first: (list) => listOf(list)[0],
    last: (list) => listOf(list).at(-1),
    rest: (list) => listOf(list).slice(1),
    initial: (list) => listOf(list).slice(0, -1),
    append: (list, value) => [...listOf(list), value].slice(0, counted(listOf(list).length + 1)),
    concat: (...all) => {
      counted(all.reduce<number>((sum, list) => sum + listOf(list).length, 0));
      return all.flatMap(listOf);
    },
    has: (value, list) => listOf(list).includes(value),
    uniq: (list) => [...new Set(listOf(list))],
    compact: (list) => listOf(list).filter(isTruthy),
    reverse: (list) => [...listOf(list)].reverse(),
    sortAlpha: (list) => listOf(list).map(textOf).sort(),
    join: (separator, list) => {
      const parts = Array.isArray(list)
        ? list.filter((each) => !isNil(each)).map(textOf)
        : [textOf(list)];
      return parts.join(textOf(separator));
    },
    splitList: (separator, text) => {
      const parts = textOf(text).split(textOf(separator));
      counted(parts.length);
      return parts;
    },
    until: (count) => Array.from({ length: counted(intOf(count)) }, (_, index) => index),
    untilStep: (from, to, step) => {
      const by = intOf(step);
      if (by === 0) return [];
      const length = counted(Math.ceil((intOf(to) - intOf(from)) / by));
      return Array.from({ length }, (_, index) => intOf(from) + index * by);
    },
  };
}

function dictOf(value: unknown): Dict {
  if (isDict(value)) return value;
  if (isNil(value)) return {};
  throw new RenderFault(`expected a map but got ${kindOf(value)}`);
}

function dicts(): TemplateFunctions {
  const pairs = (values: readonly unknown[]): Dict =>
    Object.fromEntries(
      values.flatMap((key, at) => (at % 2 === 0 ? [[textOf(key), values[at + 1] ?? ""]] : [])),
    );
  return {
    dict: (...values) => pairs(values),
    get: (dict, key) => (Object.hasOwn(dictOf(dict), textOf(key)) ? dictOf(dict)[textOf(key)] : ""),
    hasKey: (dict, key) => Object.hasOwn(dictOf(dict), textOf(key)),
    keys: (...all) => all.flatMap((dict) => Object.keys(dictOf(dict))),
    values: (dict) => Object.values(dictOf(dict)),
    pick: (dict, ...names) =>
      Object.fromEntries(Object.entries(dictOf(dict)).filter(([key]) => names.includes(key))),
    omit: (dict, ...names) =>
      Object.fromEntries(Object.entries(dictOf(dict)).filter(([key]) => !names.includes(key))),
    merge: (...all) => Object.assign({}, ...all.map(dictOf).reverse()),
  };
}

export const sprigFunctions: TemplateFunctions = {
  ...choices(),
  ...texts(),
  ...numbers(),
  ...lists(),
  ...dicts(),
};
