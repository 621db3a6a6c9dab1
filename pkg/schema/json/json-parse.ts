import { parseJsonText, type Slices, toBuffer } from "#base";
import { TooManyValues } from "../fault/faults.ts";
import { maxDepth, parsePrecisely, parsePreciselyInSlices } from "./json-precise.ts";

export interface ParsedJson {
  readonly value: unknown;
  /**
   * Keys that an object gives more than once, as paths: `metadata.name`, `spec.list[0].b`; each
   * once.
   */
  readonly duplicates: readonly string[];
  /** Whether some numbers have literals that their values do not preserve (json-literals.ts). */
  readonly literals?: boolean;
}

/**
 * Maximum depth for the native parser, whose result is counted recursively.
 */
const maxNativeDepth = 256;

/**
 * Parses JSON as Kubernetes does: integers beyond 2^53 are bigints, duplicate keys are reported (objects
 * are merged, of other values the last wins), `__proto__` is a key like any other.
 *
 * Almost all texts are parsed by the native parser: one pass over the text ensures that it loses
 * nothing, and the number of keys in the result that there are no duplicates.
 *
 * @param maxValues maximum number of keys and list elements, which is checked before parsing
 * @throws JsonFault with the message of Go's encoding/json
 * @throws TooManyValues
 */
export function parseJson(
  source: string | Uint8Array,
  maxValues = Number.POSITIVE_INFINITY,
): ParsedJson {
  const text = textOf(source);
  return parseNatively(text, scan(text, maxValues)) ?? parsePrecisely(text);
}

/** As many digits as an integer beyond 2^53 has at least. */
const longDigits = /\d{16}/;

/**
 * Parses JSON of which only the value matters; integers beyond 2^53 are bigints.
 * @throws SyntaxError or JsonFault
 */
export function parseExactJson(text: string): unknown {
  return longDigits.test(text) ? parseJson(text).value : parseJsonText(text);
}

/** Maximum number of values for the native parser, which takes some milliseconds for them. */
const nativeValues = 15_000;

/** As `parseJson`, in slices; the native parser, which cannot yield, parses only texts of few values. */
export function* parseJsonInSlices(
  source: string | Uint8Array,
  maxValues = Number.POSITIVE_INFINITY,
): Slices<ParsedJson> {
  const text = textOf(source);
  const found = scan(text, maxValues);
  yield;
  const parsed = found.values > nativeValues ? undefined : parseNatively(text, found);
  return parsed ?? (yield* parsePreciselyInSlices(text));
}

function textOf(source: string | Uint8Array): string {
  return typeof source === "string" ? source : toBuffer(source).toString("utf8");
}

const noDuplicates: readonly string[] = [];

/** Parses with the native parser; undefined if it fails or would lose information. */
function parseNatively(text: string, { keys }: TextScan): ParsedJson | undefined {
  if (keys < 0) return undefined;
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    return undefined;
  }
  return countKeys(value) === keys ? { value, duplicates: noDuplicates } : undefined;
}

interface TextScan {
  /**
   * Number of colons outside strings, which is the number of keys if the text is valid; -1 if the
   * native parser could lose something: digits of a number, half a surrogate pair, or the stack.
   */
  readonly keys: number;
  /** Number of commas and open brackets outside strings. */
  readonly values: number;
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** @throws TooManyValues as soon as there are more values than `maxValues` */
function scan(text: string, maxValues: number): TextScan {
  const length = text.length;
  let keys = 0;
  let depth = 0;
  let values = 0;
  let isExact = true;
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) {
      let end = text.indexOf('"', at + 1);
      while (end > 0 && text.charCodeAt(end - 1) === 0x5c) {
        if (!escaped(text, end)) break;
        end = text.indexOf('"', end + 1);
      }
      if (end < 0) return { keys: -1, values };
      at = end;
    } else if (unit === 0x3a) {
      keys++;
    } else if (unit === 0x2c) {
      if (++values > maxValues) throw new TooManyValues();
    } else if (unit === 0x7b || unit === 0x5b) {
      if (++values > maxValues) throw new TooManyValues();
      if (++depth > maxNativeDepth) isExact = false;
      if (depth > maxDepth) return { keys: -1, values };
    } else if (unit === 0x7d || unit === 0x5d) {
      depth--;
    } else if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) {
      const end = endOfNumber(text, at);
      if (isExact && (end - at > 15 || !exact(text, at, end))) isExact = false;
      at = end - 1;
    }
  }
  if (text.includes("\\u") && surrogateEscape.test(text)) isExact = false;
  return { keys: isExact ? keys : -1, values };
}

/** Whether the quote at `at` follows an odd number of backslashes. */
function escaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end++) {
    const unit = text.charCodeAt(end);
    const isDigit = unit >= 0x30 && unit <= 0x39;
    if (!isDigit && !isOtherInNumber(unit)) break;
  }
  return end;
}

/** Whether the unit is a sign, a decimal point or an exponent letter. */
function isOtherInNumber(unit: number): boolean {
  return unit === 0x2e || unit === 0x65 || unit === 0x45 || unit === 0x2b || unit === 0x2d;
}

/**
 * Up to fifteen characters: an integer of digits is exact, anything else must print as it was
 * written.
 */
function exact(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x30 || unit > 0x39) {
      const literal = text.slice(start, end);
      return String(Number(literal)) === literal;
    }
  }
  return true;
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) count += countKeys(value[index]);
    return count;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const key in object) {
    count++;
    const inner = object[key];
    if (typeof inner === "object") count += countKeys(inner);
  }
  return count;
}
