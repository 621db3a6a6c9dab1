/** `"%s is %d".format([...])`. */
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
import { formatDouble } from "./conversions.ts";

/** The most digits after the point. */
const FINEST = 1_000;

interface Clause {
  readonly verb: string;
  readonly precision: number | undefined;
}

/** Throws CelFault where a clause and its argument do not fit. */
export function formatText(text: string, values: ListValue): Value {
  let next = 0;
  const pattern = /%(?:(%)|(?:\.(\d*))?([a-zA-Z]?))/g;
  const made = text.replace(pattern, (_all, percent?: string, digits?: string, verb = "") => {
    if (percent !== undefined) return "%";
    if (next >= values.length) throw new CelFault(`index ${next} out of range`);
    const precision = digits === undefined ? undefined : Number(digits || "0");
    if (precision !== undefined && precision > FINEST) {
      throw new CelFault(`could not parse formatting clause: precision ${precision} is too large`);
    }
    return clause(values.at(next++), { verb, precision });
  });
  return made;
}

function clause(value: Value, { verb, precision }: Clause): string {
  switch (verb) {
    case "s":
      return stringVerb(value);
    case "d":
      return decimal(value);
    case "f":
      return real(value, "f", (number) => fixed(number, precision ?? 6));
    case "e":
      return real(value, "e", (number) => scientific(number, precision ?? 6));
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return inBase(value, 2, "binary");
    case "o":
      return inBase(value, 8, "octal");
    case "x":
      return hexadecimal(value);
    case "X":
      return hexadecimal(value).toUpperCase();
    default:
      throw new CelFault(
        `could not parse formatting clause: unrecognized formatting clause "${verb}"`,
      );
  }
}

function wrongType(value: Value, clause: string, wanted: string): CelFault {
  return new CelFault(
    `error during formatting: ${clause} clause can only be used on ${wanted}, ` +
      `was given ${typeName(value)}`,
  );
}

function stringVerb(value: Value): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
    case "number":
    case "bigint":
      return String(value);
    default:
  }
  if (value instanceof Double) return spelt(value.value) ?? formatDouble(value.value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatSpan(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof ListValue) return `[${[...value].map(stringVerb).join(", ")}]`;
  if (value instanceof MapValue) return shownMap(value);
  throw wrongType(
    value,
    "string",
    "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  );
}

function shownMap(map: MapValue): string {
  const entries = [...map.keys()].map((key) => {
    if (key instanceof Double) throw wrongType(key, "map key", "strings, ints and bools");
    return `${stringVerb(key)}: ${stringVerb(map.find(key) ?? null)}`;
  });
  return `{${entries.sort().join(", ")}}`;
}

function spelt(number: number): string | undefined {
  if (Number.isNaN(number)) return "NaN";
  if (Number.isFinite(number)) return undefined;
  return number > 0 ? "Infinity" : "-Infinity";
}

function decimal(value: Value): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value instanceof Uint) return String(value.value);
  const special = value instanceof Double ? spelt(value.value) : undefined;
  if (special !== undefined) return special;
  throw wrongType(value, "decimal", "integers");
}

function real(value: Value, verb: string, print: (value: number) => string): string {
  const wanted = verb === "f" ? "fixed-point" : "scientific";
  const number = numberOf(value);
  if (number === undefined) throw wrongType(value, wanted, "doubles");
  return spelt(number) ?? print(number);
}

function numberOf(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  if (value instanceof Uint) return Number(value.value);
  return undefined;
}

/** Rounds the exact binary value half to even, which `toFixed` does not. */
function fixed(number: number, precision: number): string {
  const scale = 10n ** BigInt(precision);
  const { numerator, denominator } = fraction(Math.abs(number));
  const scaled = numerator * scale;
  let quotient = scaled / denominator;
  const twice = (scaled % denominator) * 2n;
  if (twice > denominator || (twice === denominator && quotient % 2n === 1n)) quotient++;
  const digits = String(quotient).padStart(precision + 1, "0");
  const whole = digits.slice(0, digits.length - precision);
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  return precision === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-precision)}`;
}

/** The double as an exact fraction. */
function fraction(number: number): { numerator: bigint; denominator: bigint } {
  let scaled = number;
  let denominator = 1n;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    denominator *= 2n;
  }
  return { numerator: BigInt(scaled), denominator };
}

function scientific(number: number, precision: number): string {
  const [mantissa = "", exponent = ""] = number.toExponential(Math.min(precision, 100)).split("e");
  const sign = exponent.startsWith("-") ? "-" : "+";
  return `${mantissa}e${sign}${exponent.slice(1).padStart(2, "0")}`;
}

function inBase(value: Value, base: number, clause: string): string {
  if (typeof value === "number" || typeof value === "bigint") return value.toString(base);
  if (value instanceof Uint) return value.value.toString(base);
  throw wrongType(value, clause, clause === "binary" ? "integers and bools" : "integers");
}

function hexadecimal(value: Value): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  const isInteger = typeof value === "number" || typeof value === "bigint" || value instanceof Uint;
  if (!isInteger) throw wrongType(value, "hex", "integers, byte buffers, and strings");
  return inBase(value, 16, "hex");
}
