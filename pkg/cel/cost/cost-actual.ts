/** What calls cost when they run. The factors and rules are those of Kubernetes. */
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
  if (value instanceof OptionalValue && value.value !== undefined) return sizeOf(value.value);
  return 1;
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
const elements = (first: Value): number => sizeOf(first);
const product = (first: Value, second: Value): number => sizeOf(first) * sizeOf(second);
const matching: Rule = (first, second) => search(sizeOf(first), sizeOf(second));
const least: Rule = (first, second) => walk(smallerSize(first, second));
const both: Rule = (first, second) => walk(sizeOf(first) + sizeOf(second));

const byFunction: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["isSorted", elements],
  ["sum", elements],
  ["max", elements],
  ["min", elements],
  ["indexOf", elements],
  ["lastIndexOf", elements],
  ["url", once],
  ["isURL", once],
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
  ["quantity", once],
  ["isQuantity", once],
  ["semver", once],
  ["isSemver", once],
  ["sets.contains", product],
  ["sets.intersects", product],
  ["sets.equivalent", (first, second) => 2 * sizeOf(first) * sizeOf(second)],
  ["validate", validation],
  ["check", () => AUTHORIZATION],
]);

const byOverload: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["starts_with_string", (_first, second) => walk(sizeOf(second))],
  ["ends_with_string", (_first, second) => walk(sizeOf(second))],
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
  ["equals", least],
  ["not_equals", least],
  ["add_string", both],
  ["add_bytes", both],
  ["matches", matching],
  ["matches_string", matching],
  ["contains_string", (first, second) => walk(sizeOf(first)) * walk(sizeOf(second))],
]);

function validation(first: Value, second: Value): number {
  const pattern = first instanceof Opaque ? patternLength(first.content) : 0;
  return walk(sizeOf(second)) * Math.max(1, Math.ceil(pattern * PATTERN));
}

/** Of a named format. */
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
  if (rule === least && types.some((type) => scalars.has(type.kind))) return 1;
  return { of: rule, needsResult: false };
}
