/** What single calls may cost, and how large their results get. */
import type { Literal } from "../syntax/ast.ts";
import { AUTHORIZATION, PATTERN, TRAVERSAL } from "./cost-actual.ts";
import { exactly, nothing, plus, type Range, scaled, times, unit } from "./cost-range.ts";
import type { CelType } from "../check/types.ts";

/** An argument as estimates see it; the first is the target of a member call. */
export interface Sized {
  readonly type: CelType;
  readonly literal: Literal | undefined;
  readonly size: Range;
  readonly librarySize: Range;
  /** Sizes of elements, of a list. */
  readonly elementSize: Range;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

type Rule = (first: Sized, second: Sized, third: Sized | undefined) => CallEstimate;

const absent: Sized = {
  type: { kind: "dyn", name: "dyn", parameters: [] },
  literal: undefined,
  size: nothing,
  librarySize: nothing,
  elementSize: nothing,
};

/** The cost of the call itself, without its arguments. */
export function callEstimate(
  name: string,
  overload: string,
  given: readonly Sized[],
): CallEstimate {
  const rule =
    overload === "cidr_ip" ? undefined : (byFunction.get(name) ?? byOverload.get(overload));
  if (rule === undefined) return { cost: unit };
  const [first = absent, second = absent, third] = given;
  return rule(first, second, third);
}

const walk = (size: Range): Range => scaled(size, TRAVERSAL);

const once: Rule = ({ librarySize }) => ({ cost: walk(librarySize) });
const onceKept: Rule = ({ librarySize: size }) => ({ cost: walk(size), size });

const elements: Rule = (list) => {
  if (list.type.kind !== "list") return { cost: walk(list.librarySize) };
  const kind = list.type.parameters[0]?.kind;
  const traversed = kind === "string" || kind === "bytes" ? walk(list.elementSize) : nothing;
  return { cost: times(list.librarySize, plus(unit, traversed)) };
};

function patternCost(text: Range, pattern: Range): Range {
  return times(scaled(plus(text, unit), TRAVERSAL), scaled(pattern, PATTERN));
}

const found: Rule = (text, pattern) => ({
  cost: patternCost(text.librarySize, pattern.librarySize),
  size: { min: 0, max: text.librarySize.max },
});

const replaced: Rule = ({ librarySize: size }, old, next) => {
  const cost = scaled(size, 2 * TRAVERSAL);
  const replacement = next?.librarySize ?? nothing;
  const least = old.librarySize.min;
  if (least === 0) {
    const longest = size.max + (size.max + 1) * replacement.max;
    return { cost, size: { min: 0, max: replacement.max === 0 ? size.max : longest } };
  }
  if (replacement.max <= least) return { cost, size: { min: 0, max: size.max } };
  return { cost, size: { min: 0, max: Math.ceil(size.max / least) * replacement.max } };
};

const cut: Rule = ({ librarySize: size }, _separator, limit) => {
  const most = limit?.literal?.type === "int" ? Number(limit.literal.value) : size.max;
  return {
    cost: scaled(size, 2 * TRAVERSAL),
    size: { min: 0, max: most < 0 ? size.max : most },
  };
};

const joined: Rule = (list, separator) => {
  const count = list.librarySize;
  const gaps = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  const size = plus(times(count, list.elementSize), times(separator.librarySize, gaps));
  return { cost: walk(size), size };
};

const compared: Rule = (left, right) => {
  const most = Math.min(left.size.max, right.size.max);
  return { cost: walk({ min: most > 0 ? 1 : 0, max: most }) };
};

const added: Rule = (left, right) => {
  const size = plus(left.size, right.size);
  return { cost: walk(size), size };
};

const byPair: Rule = (left, right) => ({ cost: times(left.librarySize, right.librarySize) });
const twiceByPair: Rule = (left, right) => ({
  cost: scaled(times(left.librarySize, right.librarySize), 2),
});

/** The longest pattern of the named formats, where the format is not known. */
const LONGEST_FORMAT_PATTERN = 1_000;

const byFunction: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["check", () => ({ cost: exactly(AUTHORIZATION) })],
  ["isSorted", elements],
  ["sum", elements],
  ["max", elements],
  ["min", elements],
  ["indexOf", elements],
  ["lastIndexOf", elements],
  ["url", once],
  ["isURL", once],
  ["lowerAscii", onceKept],
  ["upperAscii", onceKept],
  ["substring", onceKept],
  ["trim", onceKept],
  ["jsonpatch.escapeKey", onceKept],
  ["replace", replaced],
  ["split", cut],
  ["join", joined],
  ["find", found],
  ["findAll", found],
  ["ip", once],
  ["cidr", once],
  ["isIP", once],
  ["isCIDR", once],
  ["ip.isCanonical", ({ librarySize }) => ({ cost: scaled(librarySize, 2 * TRAVERSAL) })],
  ["quantity", once],
  ["isQuantity", once],
  ["semver", once],
  ["isSemver", once],
  ["sets.contains", byPair],
  ["sets.intersects", byPair],
  ["sets.equivalent", twiceByPair],
  [
    "validate",
    (_format, text) => ({
      cost: times(walk(text.librarySize), scaled(exactly(LONGEST_FORMAT_PATTERN), PATTERN)),
    }),
  ],
]);

const orders = ["less", "less_equals", "greater", "greater_equals"];

const byOverload: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["starts_with_string", (_text, part) => ({ cost: walk(part.size) })],
  ["ends_with_string", (_text, part) => ({ cost: walk(part.size) })],
  ["in_list", (_item, list) => ({ cost: list.size })],
  ["matches", (text, pattern) => ({ cost: patternCost(text.size, pattern.size) })],
  ["matches_string", (text, pattern) => ({ cost: patternCost(text.size, pattern.size) })],
  ["contains_string", (text, part) => ({ cost: times(walk(text.size), walk(part.size)) })],
  ["equals", compared],
  ["not_equals", compared],
  ...orders.flatMap((order): [string, Rule][] => [
    [`${order}_string`, compared],
    [`${order}_bytes`, compared],
  ]),
  ["add_string", added],
  ["add_bytes", added],
  ["add_list", (left, right) => ({ cost: unit, size: plus(left.size, right.size) })],
  ["string_format", (text) => ({ cost: walk(text.size) })],
  [
    "string_to_bytes",
    ({ size }) => ({ cost: walk(size), size: { min: size.min, max: size.max * 4 } }),
  ],
  [
    "bytes_to_string",
    ({ size }) => ({ cost: walk(size), size: { min: Math.floor(size.min / 4), max: size.max } }),
  ],
  [
    "strings_quote",
    ({ size }) => ({ cost: walk(size), size: { min: size.min + 2, max: size.max * 2 + 2 } }),
  ],
]);
