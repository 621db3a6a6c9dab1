/**
 * `"%s is %d".format([...])` of the strings library version 2, which Kubernetes uses: `%f` and `%e`
 * format numbers in the locale en_US, and strings in lists are quoted.
 */
import { goQuote } from "#meta";
import { compareUtf8 } from "#base";
import { formatSpan, formatTimestamp } from "../value/time.ts";
import {
  CelFault,
  Double,
  Duration,
  ListValue,
  MapValue,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from "../value/values.ts";
import { type Clause, formatClauses, mismatch } from "./format-clauses.ts";
import { formatDouble } from "./conversions.ts";
import { exactFixed, localFixed, localScientific } from "./format-numbers.ts";

/** Default number of fraction digits. */
const defaultPrecision = 6;

/** @throws CelFault if a clause does not accept its argument */
export function formatText(text: string, values: ListValue): Value {
  return formatClauses(text, {
    before(index) {
      if (index >= values.length) throw new CelFault(`index ${index} out of range`);
    },
    count: () => values.length,
    clause: (clause, index) => formatted(values.at(index), clause),
  });
}

function formatted(value: Value, clause: Clause): string {
  const { verb, precision = defaultPrecision } = clause;
  switch (verb) {
    case "s":
      return stringVerb(value);
    case "d":
      if (isInteger(value)) return integerText(value, 10);
      break;
    case "f":
    case "e": {
      const number = realOf(value);
      if (number === undefined) break;
      return verb === "f" ? localFixed(number, precision) : localScientific(number, precision);
    }
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      if (isInteger(value)) return integerText(value, 2);
      break;
    case "o":
      if (isInteger(value)) return integerText(value, 8);
      break;
    case "x":
    case "X": {
      const digits = hexadecimal(value);
      if (digits !== undefined) return verb === "x" ? digits : digits.toUpperCase();
    }
  }
  throw mismatch(verb, typeName(value));
}

type Integer = number | bigint | Uint;

function isInteger(value: Value): value is Integer {
  return typeof value === "number" || typeof value === "bigint" || value instanceof Uint;
}

function integerText(value: Integer, base: number): string {
  return (value instanceof Uint ? value.value : value).toString(base);
}

function hexadecimal(value: Value): string | undefined {
  if (isInteger(value)) return integerText(value, 16);
  const isBytes = typeof value === "string" || value instanceof Uint8Array;
  return isBytes ? Buffer.from(value as string).toString("hex") : undefined;
}

/** The number of a double, or of a string such as "NaN" or "Infinity"; else undefined. */
function realOf(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  const isNamed = value === "NaN" || value === "Infinity" || value === "-Infinity";
  return isNamed ? Number(value) : undefined;
}

function stringVerb(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (isInteger(value)) return integerText(value, 10);
  if (value instanceof Double) return formatDouble(value.value);
  if (value instanceof Uint8Array) return decoded(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatSpan(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof ListValue) return `[${[...value].map(member).join(", ")}]`;
  if (value instanceof MapValue && value.typeName === "map") return mapText(value);
  throw mismatch("s", typeName(value));
}

function decoded(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("utf8");
  if (Buffer.from(text).equals(bytes)) return text;
  const why = "invalid UTF-8 in bytes, cannot convert to string";
  throw new CelFault(`error during formatting: could not convert argument "${why}" to string`);
}

/** An element of a list or map, as a literal. */
function member(value: Value): string {
  if (typeof value === "string") return goQuote(value);
  if (value instanceof Uint8Array) return `b${goQuote(decoded(value))}`;
  if (value instanceof Timestamp) return `timestamp("${formatTimestamp(value)}")`;
  if (value instanceof Duration) return `duration("${formatSpan(value)}")`;
  if (value instanceof Double) {
    const { value: number } = value;
    return Number.isFinite(number)
      ? exactFixed(number, defaultPrecision)
      : `"${formatDouble(number)}"`;
  }
  const isKnown =
    value === null ||
    typeof value === "boolean" ||
    isInteger(value) ||
    value instanceof TypeValue ||
    value instanceof ListValue ||
    (value instanceof MapValue && value.typeName === "map");
  if (isKnown) return stringVerb(value);
  throw new CelFault(`error during formatting: no formatting function for ${typeName(value)}`);
}

function mapText(map: MapValue): string {
  const entries = [...map.keys()].map((key) => {
    if (typeof key !== "string" && typeof key !== "boolean" && !isInteger(key)) {
      const why = `no formatting function for map key of type ${typeName(key)}`;
      throw new CelFault(`error during formatting: ${why}`);
    }
    return [member(key), member(map.find(key) ?? null)] as const;
  });
  const sorted = entries.sort(([left], [right]) => compareUtf8(left, right));
  return `{${sorted.map(([key, value]) => `${key}:${value}`).join(", ")}}`;
}
