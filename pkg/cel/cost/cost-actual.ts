/** What calls cost when they run. The factors and rules are those of Kubernetes. */
import type { Cidr, IpAddress } from "#base";
import { codePoints } from "../syntax/source.ts";
import type { CelType } from "../check/types.ts";
import { ListValue, MapValue, Opaque, OptionalValue, type Value } from "../value/values.ts";

export interface ActualCost {
  readonly of: (first: Value, second: Value, result: Value) => number;
  readonly needsResult: boolean;
}

/** A character of text that is looked at. */
export const TRAVERSAL = 0.1;
/** A character of a pattern: four of them make a state. */
export const PATTERN = 0.25;
/** A question to the authorizer. */
export const AUTHORIZATION = 350_000;

/** Elements of a collection, code points of a text, bytes; 1 for everything else. */
export function sizeOf(value: Value): number {
  if (typeof value === "string") return codePoints(value);
  if (value instanceof Uint8Array || value instanceof ListValue) return value.length;
  if (value instanceof MapValue) return value.size;
  if (value instanceof Opaque) return librarySize(value);
  if (value instanceof OptionalValue && value.value !== undefined) return sizeOf(value.value);
  return 1;
}

/** Bytes of an address, or of the prefix of a network. */
function librarySize({ type, content }: Opaque): number {
  if (type === "net.IP") return (content as IpAddress).length;
  return type === "net.CIDR" ? Math.ceil((content as Cidr).prefix / 8) : 1;
}

const walk = (size: number): number => Math.ceil(size * TRAVERSAL);

function search(text: number, pattern: number): number {
  // One more, so that a pattern costs something also over nothing.
  return Math.ceil((1 + text) * TRAVERSAL) * Math.ceil(pattern * PATTERN);
}

/**
 * The smaller of two sizes. A text is not scanned beside one of less than half its length, which
 * has fewer code points whatever they are.
 */
function smallerSize(first: Value, second: Value): number {
  if (typeof first === "string" && typeof second === "string") {
    if (first.length * 2 < second.length) return codePoints(first);
    if (second.length * 2 < first.length) return codePoints(second);
  }
  return Math.min(sizeOf(first), sizeOf(second));
}

type Rule = ActualCost["of"];

const once = (first: Value): number => walk(sizeOf(first));
const twice = (first: Value): number => Math.ceil(sizeOf(first) * 2 * TRAVERSAL);
const matching: Rule = (first, second) => search(sizeOf(first), sizeOf(second));
const least: Rule = (first, second) => walk(smallerSize(first, second));
const both: Rule = (first, second) => walk(sizeOf(first) + sizeOf(second));
const byPair =
  (factor: number): Rule =>
  (first, second) =>
    1 + Math.floor(sizeOf(first) * sizeOf(second) * factor);

/** Texts by their length, and everything that a collection holds. */
function traversal(value: Value): number {
  if (typeof value === "string") return Math.floor(Buffer.byteLength(value) * TRAVERSAL);
  if (value instanceof Uint8Array) return Math.floor(value.length * TRAVERSAL);
  let sum = 0;
  if (value instanceof ListValue) for (const item of value) sum += traversal(item);
  else if (value instanceof MapValue) {
    for (const key of value.keys()) sum += traversal(key) + traversal(value.find(key) ?? null);
  } else return 1;
  return sum;
}

/** Values of libraries are compared at once. */
const equated: Rule = (first, second) => (first instanceof Opaque ? 1 : least(first, second, null));

function selector(_check: Value, text: Value): number {
  const size = sizeOf(text);
  return 10 + walk(size) + Math.ceil(size * 0.5) * 50;
}

/** `times` the network's bytes are compared; `text` is parsed first where it is one. */
function contained(times: number): Rule {
  return (network, other) => {
    const size = sizeOf(network);
    const masked = times > 2 ? walk(size) + 1 : 0;
    return walk(2 * size) + masked + (typeof other === "string" ? walk(sizeOf(other)) : 0);
  };
}

const byFunction: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["isSorted", traversal],
  ["sum", traversal],
  ["max", traversal],
  ["min", traversal],
  ["indexOf", traversal],
  ["lastIndexOf", traversal],
  ["url", once],
  ["lowerAscii", once],
  ["upperAscii", once],
  ["substring", once],
  ["trim", once],
  ["jsonpatch.escapeKey", once],
  ["replace", twice],
  ["split", twice],
  ["find", matching],
  ["findAll", matching],
  ["cidr", once],
  ["ip", once],
  ["isIP", once],
  ["isCIDR", once],
  ["ip.isCanonical", twice],
  ["containsIP", contained(2)],
  ["containsCIDR", contained(3)],
  ["quantity", once],
  ["isQuantity", once],
  ["semver", once],
  ["isSemver", once],
  ["sets.contains", byPair(1)],
  ["sets.intersects", byPair(1)],
  ["sets.equivalent", byPair(2)],
  ["validate", validation],
  ["check", () => AUTHORIZATION],
  ["fieldSelector", selector],
  ["labelSelector", selector],
]);

const byOverload: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["starts_with_string", once],
  ["ends_with_string", once],
  ["string_to_bytes", once],
  ["bytes_to_string", once],
  ["strings_quote", once],
  ["string_format", once],
  ["in_list", (_first, second) => sizeOf(second)],
  ["less_string", least],
  ["less_equals_string", least],
  ["greater_string", least],
  ["greater_equals_string", least],
  ["less_bytes", least],
  ["less_equals_bytes", least],
  ["greater_bytes", least],
  ["greater_equals_bytes", least],
  ["equals", equated],
  ["not_equals", least],
  ["add_string", both],
  ["add_bytes", both],
  ["matches_string", matching],
  ["contains_string", (first, second) => walk(sizeOf(first)) * walk(sizeOf(second))],
]);

function validation(first: Value, second: Value): number {
  const pattern = first instanceof Opaque ? patternLength(first.content) : 0;
  return search(sizeOf(second), pattern);
}

/** Length of a named format's pattern, which its cost grows with. */
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

/** The cost of calls of that overload (empty where it is only known at run time). */
export function actualCost(
  name: string,
  overload: string,
  types: readonly CelType[],
): ActualCost | number {
  if (name === "join") {
    const of: Rule = (_first, _second, result) => twice(result);
    return { of, needsResult: true };
  }
  // A field of the value, though the function of the same name reads a text.
  if (overload === "cidr_ip") return 1;
  const rule = byFunction.get(name) ?? byOverload.get(overload);
  if (rule === undefined) return 1;
  const isComparison = rule === least || rule === equated;
  if (isComparison && types.some((type) => scalars.has(type.kind))) return 1;
  return { of: rule, needsResult: false };
}
