/** Run-time costs of calls, by Kubernetes' rules and factors. */
import type { Cidr, IpAddress } from "#base";
import { codePoints } from "../syntax/source.ts";
import type { CelType } from "../check/types.ts";
import { ListValue, MapValue, Opaque, OptionalValue, type Value } from "../value/values.ts";

export interface ActualCost {
  readonly of: (first: Value, second: Value, result: Value) => number;
  readonly needsResult: boolean;
}

/** Cost per traversed character. */
export const traversalFactor = 0.1;
/** Cost per character of a pattern, of which four are estimated as one state. */
export const regexFactor = 0.25;
/** Cost of an authorization check. */
export const authorizationCost = 350_000;

/** Number of elements, code points or bytes; 1 for other values. */
export function sizeOf(value: Value): number {
  if (typeof value === "string") return codePoints(value);
  if (value instanceof Uint8Array || value instanceof ListValue) return value.length;
  if (value instanceof MapValue) return value.size;
  if (value instanceof Opaque) return librarySize(value);
  if (value instanceof OptionalValue && value.value !== undefined) return sizeOf(value.value);
  return 1;
}

/** Size in bytes of an address or of a network prefix. */
function librarySize({ type, content }: Opaque): number {
  if (type === "net.IP") return (content as IpAddress).length;
  return type === "net.CIDR" ? Math.ceil((content as Cidr).prefix / 8) : 1;
}

const traversalCost = (size: number): number => Math.ceil(size * traversalFactor);

function search(text: number, pattern: number): number {
  // Plus one, so that matching an empty text costs something.
  return Math.ceil((1 + text) * traversalFactor) * Math.ceil(pattern * regexFactor);
}

/**
 * The smaller of two sizes. A text more than twice as long as the other is not scanned, as it certainly
 * has more code points.
 */
function smallerSize(first: Value, second: Value): number {
  if (typeof first === "string" && typeof second === "string") {
    if (first.length * 2 < second.length) return codePoints(first);
    if (second.length * 2 < first.length) return codePoints(second);
  }
  return Math.min(sizeOf(first), sizeOf(second));
}

type Rule = ActualCost["of"];

const traverseFirst = (first: Value): number => traversalCost(sizeOf(first));
const traverseFirstTwice = (first: Value): number => Math.ceil(sizeOf(first) * 2 * traversalFactor);
const matching: Rule = (first, second) => search(sizeOf(first), sizeOf(second));
const traverseSmaller: Rule = (first, second) => traversalCost(smallerSize(first, second));
const traverseBoth: Rule = (first, second) => traversalCost(sizeOf(first) + sizeOf(second));
const byPair =
  (factor: number): Rule =>
  (first, second) =>
    1 + Math.floor(sizeOf(first) * sizeOf(second) * factor);

/** Cost of traversing a value: the lengths of all strings in it. */
function traversal(value: Value): number {
  if (typeof value === "string") return Math.floor(Buffer.byteLength(value) * traversalFactor);
  if (value instanceof Uint8Array) return Math.floor(value.length * traversalFactor);
  let sum = 0;
  if (value instanceof ListValue) for (const item of value) sum += traversal(item);
  else if (value instanceof MapValue) {
    for (const key of value.keys()) sum += traversal(key) + traversal(value.find(key) ?? null);
  } else return 1;
  return sum;
}

/** Comparing opaque values costs 1. */
const equated: Rule = (first, second) =>
  first instanceof Opaque ? 1 : traverseSmaller(first, second, null);

function selector(_check: Value, text: Value): number {
  const size = sizeOf(text);
  return 10 + traversalCost(size) + Math.ceil(size * 0.5) * 50;
}

/** Compares the network's bytes `times` times; an operand of type string is parsed first. */
function contained(times: number): Rule {
  return (network, other) => {
    const size = sizeOf(network);
    const masked = times > 2 ? traversalCost(size) + 1 : 0;
    return (
      traversalCost(2 * size) +
      masked +
      (typeof other === "string" ? traversalCost(sizeOf(other)) : 0)
    );
  };
}

const byFunction: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["isSorted", traversal],
  ["sum", traversal],
  ["max", traversal],
  ["min", traversal],
  ["indexOf", traversal],
  ["lastIndexOf", traversal],
  ["url", traverseFirst],
  ["lowerAscii", traverseFirst],
  ["upperAscii", traverseFirst],
  ["substring", traverseFirst],
  ["trim", traverseFirst],
  ["jsonpatch.escapeKey", traverseFirst],
  ["replace", traverseFirstTwice],
  ["split", traverseFirstTwice],
  ["find", matching],
  ["findAll", matching],
  ["cidr", traverseFirst],
  ["ip", traverseFirst],
  ["isIP", traverseFirst],
  ["isCIDR", traverseFirst],
  ["ip.isCanonical", traverseFirstTwice],
  ["containsIP", contained(2)],
  ["containsCIDR", contained(3)],
  ["quantity", traverseFirst],
  ["isQuantity", traverseFirst],
  ["semver", traverseFirst],
  ["isSemver", traverseFirst],
  ["sets.contains", byPair(1)],
  ["sets.intersects", byPair(1)],
  ["sets.equivalent", byPair(2)],
  ["validate", validation],
  ["check", () => authorizationCost],
  ["fieldSelector", selector],
  ["labelSelector", selector],
]);

const byOverload: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["starts_with_string", traverseFirst],
  ["ends_with_string", traverseFirst],
  ["string_to_bytes", traverseFirst],
  ["bytes_to_string", traverseFirst],
  ["strings_quote", traverseFirst],
  ["string_format", traverseFirst],
  ["in_list", (_first, second) => sizeOf(second)],
  ["less_string", traverseSmaller],
  ["less_equals_string", traverseSmaller],
  ["greater_string", traverseSmaller],
  ["greater_equals_string", traverseSmaller],
  ["less_bytes", traverseSmaller],
  ["less_equals_bytes", traverseSmaller],
  ["greater_bytes", traverseSmaller],
  ["greater_equals_bytes", traverseSmaller],
  ["equals", equated],
  ["not_equals", traverseSmaller],
  ["add_string", traverseBoth],
  ["add_bytes", traverseBoth],
  ["matches_string", matching],
  [
    "contains_string",
    (first, second) => traversalCost(sizeOf(first)) * traversalCost(sizeOf(second)),
  ],
]);

function validation(first: Value, second: Value): number {
  const pattern = first instanceof Opaque ? patternLength(first.content) : 0;
  return search(sizeOf(second), pattern);
}

/** Length of a named format's pattern. */
function patternLength(format: unknown): number {
  if (typeof format !== "object" || format === null || !("patternLength" in format)) return 0;
  return Number(format.patternLength);
}

const scalars: ReadonlySet<string> = new Set([
  "null_type",
  "bool",
  "int",
  "uint",
  "double",
  "timestamp",
  "duration",
  "type",
]);

/** The cost of calls of the overload; "" for one that is selected at run time. */
export function actualCost(
  name: string,
  overload: string,
  types: readonly CelType[],
): ActualCost | number {
  if (name === "join") {
    const of: Rule = (_first, _second, result) => traverseFirstTwice(result);
    return { of, needsResult: true };
  }
  // The accessor of an opaque value; the function of the same name parses a string.
  if (overload === "cidr_ip") return 1;
  const rule = byFunction.get(name) ?? byOverload.get(overload);
  if (rule === undefined) return 1;
  const isComparison = rule === traverseSmaller || rule === equated;
  if (isComparison && types.some((type) => scalars.has(type.kind))) return 1;
  return { of: rule, needsResult: false };
}
