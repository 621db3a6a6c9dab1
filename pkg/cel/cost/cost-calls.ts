/** Estimated costs of calls and sizes of their results. */
import type { Literal } from "../syntax/ast.ts";
import { authorizationCost, regexFactor, traversalFactor } from "./cost-actual.ts";
import { exactly, nothing, plus, type Range, scaled, times, unit } from "./cost-range.ts";
import { type CelType, dyn, isStructName, sameType } from "../check/types.ts";

/** An argument of a call; the first is the target of a member call. */
export interface Sized {
  readonly type: CelType;
  readonly literal: Literal | undefined;
  readonly size: Range;
  /** Sizes of elements, of a list. */
  readonly elementSize: Range;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

type Rule = (first: Sized, second: Sized, third: Sized | undefined) => CallEstimate;

const absent: Sized = { type: dyn, literal: undefined, size: nothing, elementSize: nothing };

/** The cost of the call itself, without its arguments. */
export function callEstimate(
  name: string,
  overload: string,
  given: readonly Sized[],
): CallEstimate {
  const [first = absent, second = absent, third] = given;
  const special = byOverload.get(overload) ?? byFunction.get(name);
  return special === undefined ? { cost: unit } : special(first, second, third);
}

const traversalCost = (size: Range): Range => scaled(size, traversalFactor);

const traverseFirst: Rule = ({ size }) => ({ cost: traversalCost(size) });
const traverseFirstSameSize: Rule = ({ size }) => ({ cost: traversalCost(size), size });

const elements: Rule = ({ type, size, elementSize }) => {
  if (type.parameters.length === 0) return { cost: traversalCost(size) };
  const kind = type.parameters[0]?.kind;
  const traversed = kind === "string" || kind === "bytes" ? traversalCost(elementSize) : nothing;
  return { cost: times(size, plus(unit, traversed)) };
};

function patternCost(text: Range, pattern: Range): Range {
  return times(scaled(plus(text, unit), traversalFactor), scaled(pattern, regexFactor));
}

const found: Rule = (text, pattern) => ({
  cost: patternCost(text.size, pattern.size),
  size: { min: 0, max: text.size.max },
});

const replaced: Rule = ({ size }, old, next) => {
  const cost = scaled(size, 2 * traversalFactor);
  const replacement = next?.size ?? nothing;
  const longest = replacements(size.max, old.size.min, replacement.max <= old.size.min);
  const shortest = replacements(size.min, old.size.max, old.size.max <= replacement.min);
  const inserted = times({ min: shortest.count, max: longest.count }, replacement);
  return { cost, size: plus(inserted, { min: shortest.kept, max: longest.kept }) };
};

/** Number of replacements of a part, and the remaining size of the text. */
function replacements(
  text: number,
  part: number,
  isKept: boolean,
): { readonly count: number; readonly kept: number } {
  // An empty part matches around every character.
  if (part === 0) return { count: text + 1, kept: text };
  return isKept ? { count: 0, kept: text } : { count: Math.ceil(text / part), kept: 0 };
}

const cut: Rule = ({ size }, _separator, limit) => {
  const most = limit?.literal?.type === "int" ? Number(limit.literal.value) : size.max;
  return {
    cost: scaled(size, 2 * traversalFactor),
    size: { min: 0, max: most < 0 ? Infinity : most },
  };
};

const joined: Rule = (list, separator) => {
  const count = list.size;
  const gaps = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  // The elements of a dynamic value have unknown sizes.
  const element = list.type.parameters.length === 0 ? nothing : list.elementSize;
  const size = plus(times(count, element), times(separator.size, gaps));
  return { cost: traversalCost(size), size };
};

const compared: Rule = (left, right) => {
  const most = Math.min(left.size.max, right.size.max);
  return { cost: traversalCost({ min: most > 0 ? 1 : 0, max: most }) };
};

/** Maximum length of a format's name. */
const maxFormatNameLength = 64;

/** Comparing opaque values costs 1, except for formats and URLs. */
const equated: Rule = (left, right) => {
  const { type } = left;
  const isLibrary = isStructName(type) || type.name === "net.IP" || type.name === "net.CIDR";
  if (!isLibrary || !sameType(type, right.type)) return compared(left, right, undefined);
  switch (type.name) {
    case "kubernetes.NamedFormat":
      return { cost: traversalCost({ min: 1, max: maxFormatNameLength }) };
    case "kubernetes.URL": {
      const { max } = Number.isFinite(right.size.max) ? right.size : unit;
      return { cost: traversalCost({ min: 1, max }) };
    }
    default:
      return { cost: unit };
  }
};

const added: Rule = (left, right) => {
  const size = plus(left.size, right.size);
  return { cost: traversalCost(size), size };
};

const byPair =
  (factor: number): Rule =>
  (left, right) => ({
    cost: plus(unit, scaled(times(left.size, right.size), factor)),
  });

/** Maximum length of a named format's pattern. */
const maxFormatPatternLength = 128;

/** Size of an address. */
const addressBytes: Range = { min: 4, max: 16 };
const comparedAddresses = traversalCost(plus(addressBytes, addressBytes));
const comparedNetworks = plus(plus(comparedAddresses, traversalCost(addressBytes)), unit);

/** Parses a selector into a list of requirements. */
const selector: Rule = (_check, { size }) => ({
  cost: plus(plus(exactly(10), traversalCost(size)), scaled(scaled(size, 0.5), 50)),
});

const byFunction: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["check", () => ({ cost: exactly(authorizationCost) })],
  ["fieldSelector", selector],
  ["labelSelector", selector],
  ["isSorted", elements],
  ["sum", elements],
  ["max", elements],
  ["min", elements],
  ["indexOf", elements],
  ["lastIndexOf", elements],
  ["url", traverseFirstSameSize],
  ["lowerAscii", traverseFirstSameSize],
  ["upperAscii", traverseFirstSameSize],
  ["substring", traverseFirstSameSize],
  ["trim", traverseFirstSameSize],
  ["jsonpatch.escapeKey", traverseFirstSameSize],
  ["replace", replaced],
  ["split", cut],
  ["join", joined],
  ["find", found],
  ["findAll", found],
  ["ip", traverseFirst],
  ["cidr", traverseFirst],
  ["isIP", traverseFirst],
  ["isCIDR", traverseFirst],
  ["ip.isCanonical", ({ size }) => ({ cost: scaled(size, 2 * traversalFactor) })],
  ["quantity", traverseFirst],
  ["isQuantity", traverseFirst],
  ["semver", traverseFirst],
  ["isSemver", traverseFirst],
  ["sets.contains", byPair(1)],
  ["sets.intersects", byPair(1)],
  ["sets.equivalent", byPair(2)],
  [
    "validate",
    (_format, { size }) => ({
      cost: scaled(traversalCost(size), maxFormatPatternLength * regexFactor),
    }),
  ],
]);

const orders = ["less", "less_equals", "greater", "greater_equals"];

const byOverload: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["starts_with_string", (_text, part) => ({ cost: traversalCost(part.size) })],
  ["ends_with_string", (_text, part) => ({ cost: traversalCost(part.size) })],
  ["in_list", (_item, list) => ({ cost: list.size })],
  ["matches_string", (text, pattern) => ({ cost: patternCost(text.size, pattern.size) })],
  [
    "contains_string",
    (text, part) => ({ cost: times(traversalCost(text.size), traversalCost(part.size)) }),
  ],
  ["cidr_ip", () => ({ cost: unit })],
  [
    "cidr_contains_ip_string",
    (_network, { size }) => ({ cost: plus(comparedAddresses, traversalCost(size)) }),
  ],
  ["cidr_contains_ip_ip", () => ({ cost: comparedAddresses })],
  [
    "cidr_contains_cidr_string",
    (_network, { size }) => ({ cost: plus(comparedNetworks, traversalCost(size)) }),
  ],
  ["cidr_contains_cidr", () => ({ cost: comparedNetworks })],
  ["equals", equated],
  ["not_equals", compared],
  ...orders.flatMap((order): [string, Rule][] => [
    [`${order}_string`, compared],
    [`${order}_bytes`, compared],
  ]),
  ["add_string", added],
  ["add_bytes", added],
  ["add_list", (left, right) => ({ cost: unit, size: plus(left.size, right.size) })],
  ["string_format", (text) => ({ cost: traversalCost(text.size) })],
  [
    "string_to_bytes",
    ({ size }) => ({ cost: traversalCost(size), size: { min: size.min, max: size.max * 4 } }),
  ],
  [
    "bytes_to_string",
    ({ size }) => ({
      cost: traversalCost(size),
      size: { min: Math.floor(size.min / 4), max: size.max },
    }),
  ],
  [
    "strings_quote",
    ({ size }) => ({
      cost: traversalCost(size),
      size: { min: size.min + 2, max: size.max * 2 + 2 },
    }),
  ],
]);
