/** Type conversions. */
import { define, type Library, overload } from "../check/declare.ts";
import { toInt, toUint } from "../value/numbers.ts";
import {
  formatSpan,
  formatTimestamp,
  parseDurationText,
  parseTimestampText,
} from "../value/time.ts";
import { timestampAt } from "../value/time.ts";
import {
  CelFault,
  Double,
  Duration,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from "../value/values.ts";

type Int = number | bigint;

const maxInt = 2n ** 63n - 1n;

/** Go's `%g` of a double: with an exponent from a million on. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const [mantissa = "", power = ""] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  const sign = exponent < 0 ? "-" : "+";
  return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function intOfDouble({ value }: Double): Value {
  // The bounds of int64 are not exactly representable as doubles, and are out of range.
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new CelFault("integer overflow");
  return toInt(BigInt(Math.trunc(value)));
}

function uintOfDouble({ value }: Double): Value {
  if (!(value >= 0 && value < 2 ** 64)) throw new CelFault("unsigned integer overflow");
  return toUint(BigInt(Math.trunc(value)));
}

/** The error of a text that cannot be converted. */
function invalidText(type: string): CelFault {
  return new CelFault(`type conversion error from 'string' to '${type}'`);
}

/** Longer numbers are out of range, and expensive to parse. */
const maxDigits = 100;

function parseInt64(text: string): Value {
  if (!/^[+-]?\d+$/.test(text) || text.length > maxDigits) throw invalidText("int");
  return parseOr("int", () => toInt(BigInt(text.replace(/^\+/, ""))));
}

function parseUint64(text: string): Value {
  if (!/^\d+$/.test(text) || text.length > maxDigits) throw invalidText("uint");
  return parseOr("uint", () => toUint(BigInt(text)));
}

/** Calls `make`; all its errors become one conversion error. */
function parseOr(type: string, make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    if (error instanceof CelFault) throw invalidText(type);
    throw error;
  }
}

const doubleText = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const namedDouble = /^([+-]?)(?:inf|infinity|nan)$/i;
const hexDouble = /^([+-]?)0x([\da-f]*)\.?([\da-f]*)p([+-]?\d{1,6})$/i;

function parseDouble(text: string): Value {
  const word = namedDouble.exec(text);
  if (word !== null) {
    if (/nan$/i.test(text)) {
      if (word[1] === "") return new Double(Number.NaN);
      throw invalidText("double");
    }
    return new Double(word[1] === "-" ? -Infinity : Infinity);
  }
  const plain = withoutUnderscores(text);
  const value = hexDouble.test(plain) ? hexValue(plain) : Number(plain);
  const isSpelled = hexDouble.test(plain) || doubleText.test(plain);
  if (!isSpelled || !Number.isFinite(value)) throw invalidText("double");
  return new Double(value);
}

/** Removes underscores between digits, which Go accepts after a base prefix only. */
function withoutUnderscores(text: string): string {
  const isGrouped = /^[+-]?0x_?[\da-f]/i.test(text) && !/__|_$|_[.p]|[.p]_/i.test(text);
  return isGrouped ? text.replaceAll("_", "") : text;
}

function hexValue(text: string): number {
  const [, sign = "", whole = "", fraction = "", power = ""] = hexDouble.exec(text) ?? [];
  if (whole === "" && fraction === "") return Number.NaN;
  const mantissa = Number(`0x${whole}${fraction}`);
  return (sign === "-" ? -mantissa : mantissa) * 2 ** (Number(power) - 4 * fraction.length);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

function parseBool(text: string): Value {
  const value = booleans.get(text);
  if (value === undefined) throw invalidText("bool");
  return value;
}

function decode(bytes: Uint8Array): Value {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError)
      throw new CelFault("invalid UTF-8 in bytes, cannot convert to string");
    throw error;
  }
}

function moment(seconds: Int): Value {
  return timestampAt(Number(seconds), 0);
}

const same = (value: Value): Value => value;
const text = (value: Value): Value => String(value);

export const conversionLibrary: Library = {
  functions: [
    define(
      "int",
      overload("int64_to_int64", "(int) -> int", same),
      overload("uint64_to_int64", "(uint) -> int", ({ value }: Uint) => {
        if (value > maxInt) throw new CelFault("integer overflow");
        return toInt(value);
      }),
      overload("double_to_int64", "(double) -> int", intOfDouble),
      overload("string_to_int64", "(string) -> int", parseInt64),
      overload("timestamp_to_int64", "(timestamp) -> int", ({ seconds }: Timestamp) => seconds),
      overload("duration_to_int64", "(duration) -> int", ({ nanos }: Duration) => toInt(nanos)),
    ),
    define(
      "uint",
      overload("uint64_to_uint64", "(uint) -> uint", same),
      overload("int64_to_uint64", "(int) -> uint", (value: Int) => toUint(BigInt(value))),
      overload("double_to_uint64", "(double) -> uint", uintOfDouble),
      overload("string_to_uint64", "(string) -> uint", parseUint64),
    ),
    define(
      "double",
      overload("double_to_double", "(double) -> double", same),
      overload("int64_to_double", "(int) -> double", (value: Int) => new Double(Number(value))),
      overload(
        "uint64_to_double",
        "(uint) -> double",
        (value: Uint) => new Double(Number(value.value)),
      ),
      overload("string_to_double", "(string) -> double", parseDouble),
    ),
    define(
      "bool",
      overload("bool_to_bool", "(bool) -> bool", same),
      overload("string_to_bool", "(string) -> bool", parseBool),
    ),
    define(
      "string",
      overload("string_to_string", "(string) -> string", same),
      overload("bool_to_string", "(bool) -> string", text),
      overload("int64_to_string", "(int) -> string", text),
      overload("uint64_to_string", "(uint) -> string", ({ value }: Uint) => String(value)),
      overload("double_to_string", "(double) -> string", ({ value }: Double) =>
        formatDouble(value),
      ),
      overload("bytes_to_string", "(bytes) -> string", decode),
      overload("timestamp_to_string", "(timestamp) -> string", formatTimestamp),
      overload("duration_to_string", "(duration) -> string", formatSpan),
    ),
    define(
      "bytes",
      overload("bytes_to_bytes", "(bytes) -> bytes", same),
      overload("string_to_bytes", "(string) -> bytes", (value: string) => Buffer.from(value)),
    ),
    define(
      "timestamp",
      overload("timestamp_to_timestamp", "(timestamp) -> timestamp", same),
      overload("int64_to_timestamp", "(int) -> timestamp", moment),
      overload("string_to_timestamp", "(string) -> timestamp", (value: string) =>
        parseOr("google.protobuf.Timestamp", () => parseTimestampText(value)),
      ),
    ),
    define(
      "duration",
      overload("duration_to_duration", "(duration) -> duration", same),
      overload("int64_to_duration", "(int) -> duration", () => {
        throw new CelFault("type conversion error from 'int' to 'google.protobuf.Duration'");
      }),
      overload("string_to_duration", "(string) -> duration", (value: string) =>
        parseOr("google.protobuf.Duration", () => parseDurationText(value)),
      ),
    ),
    define("dyn", overload("to_dyn", "(A) -> dyn", same)),
    define(
      "type",
      overload("type", "(A) -> type(A)", (value: Value) => new TypeValue(typeName(value))),
    ),
  ],
};
