import { OpaqueJson, printJson } from "#base";
import {
  checkDepth,
  int32,
  int64,
  named,
  pointer,
  parseJson,
  value,
  scalar,
  ScalarFault,
  string,
  structs,
  textBytes,
} from "#schema";
import type { Int64, ScalarType } from "#schema";
import {
  formatMicros,
  formatSeconds,
  type Instant,
  isZeroTime,
  parseMicros,
  parseSeconds,
} from "./go-time.ts";
import { formatDuration, parseDuration } from "./go-duration.ts";
import { Quantity, QuantityFault } from "./quantity.ts";

/** The JSON values with codecs of their own. Each says how Go reads, prints and ships it. */

/** A UID: any string to the decoder, with a type of its own. */
export const uid = named("types.UID");

const metaPackage = "apimachinery/pkg/apis/meta/v1";
const resourcePackage = "apimachinery/pkg/api/resource";
const intstrPackage = "apimachinery/pkg/util/intstr";
const runtimePackage = "apimachinery/pkg/runtime";

const meta = structs(metaPackage);

/** Wire form of a time. A zero time is an empty message: both fields are absent, not zero. */
interface TimeMessage {
  readonly seconds?: Int64;
  readonly nanos?: number;
}

const timeFields = {
  seconds: pointer(1, int64, "Seconds since 1970-01-01T00:00:00Z."),
  nanos: pointer(2, int32, "Nanoseconds within the second, 0 to 999999999."),
} as const;

/** RFC 3339 to the second; null is Go's zero time. */
export const time: ScalarType<string | null> = scalar<string | null>({
  name: "Time",
  package: metaPackage,
  doc: "Time in RFC 3339 format with seconds, for example 2026-01-31T12:00:00Z.",
  fromJson: (value) => timeFrom(value, parseSeconds, formatSeconds),
  wire: meta(
    "Time",
    "Time in RFC 3339 format with seconds, for example 2026-01-31T12:00:00Z.",
    timeFields,
  ),
  toWire: (value) => (value === null ? {} : { seconds: parseSeconds(value).seconds, nanos: 0 }),
  fromWire: (message: TimeMessage) => {
    if (message.seconds === undefined && message.nanos === undefined) return null;
    return formatUnlessZero({ seconds: Number(message.seconds ?? 0), nanos: 0 }, formatSeconds);
  },
  openapi: { type: "string", format: "date-time" },
  zero: null,
  keptWhenEmpty: true,
});

/** RFC 3339 with exactly six digits of fraction; null is Go's zero time. */
export const microTime: ScalarType<string | null> = scalar<string | null>({
  name: "MicroTime",
  package: metaPackage,
  doc: "Time in RFC 3339 format with microseconds, for example 2026-01-31T12:00:00.000000Z.",
  fromJson: (value) => timeFrom(value, parseMicros, formatMicros),
  wire: meta(
    "MicroTime",
    "Time in RFC 3339 format with microseconds, for example 2026-01-31T12:00:00.000000Z.",
    timeFields,
  ),
  toWire: (value) => {
    if (value === null) return {};
    const { seconds, nanos } = parseMicros(value);
    return { seconds, nanos };
  },
  fromWire: (message: TimeMessage) => {
    if (message.seconds === undefined && message.nanos === undefined) return null;
    const instant = { seconds: Number(message.seconds ?? 0), nanos: message.nanos ?? 0 };
    return formatUnlessZero(instant, formatMicros);
  },
  openapi: { type: "string", format: "date-time" },
  zero: null,
  keptWhenEmpty: true,
});

/** A fixed-point amount, as canonical text. */
export const quantity: ScalarType<string> = scalar<string>({
  name: "Quantity",
  package: resourcePackage,
  doc:
    "Fixed-point number with an optional suffix: decimal (n, u, m, k, M, G, T, P, E), binary " +
    "(Ki, Mi, Gi, Ti, Pi, Ei) or an exponent, for example 1.5Gi, 500m or 1e3.",
  fromJson: (value) => {
    if (value === null) return "0";
    return canonicalQuantity(typeof value === "string" ? value : printJson(value));
  },
  fromNumber: canonicalQuantity,
  equals: (left, right) => left === right || Quantity.parse(left).equals(Quantity.parse(right)),
  wire: structs(resourcePackage)("Quantity", "Decimal or binary amount in text form on the wire.", {
    string: value(1, string, "Text of the quantity, `500m` or `2Gi` for example."),
  }),
  toWire: (value) => ({ string: value }),
  fromWire: (message: { readonly string?: string }) => canonicalQuantity(message.string ?? ""),
  openapi: { type: "string", v3: { oneOf: [{ type: "string" }, { type: "number" }] } },
  zero: "0",
  keptWhenEmpty: true,
});

interface IntOrStringMessage {
  readonly type?: Int64;
  readonly intVal?: number;
  readonly strVal?: string;
}

/** A 32-bit number or a text, told apart by JSON type. */
export const intOrString: ScalarType<number | string> = scalar<number | string>({
  name: "IntOrString",
  package: intstrPackage,
  doc: "32-bit integer or string, such as the number or the name of a port.",
  fromJson: (value) => {
    if (typeof value === "string") return value;
    if (value === null) return 0;
    return int32From(value);
  },
  fromNumber: (literal) => {
    if (literal === "-0") return 0;
    throw ScalarFault.mismatched(`number ${literal}`, "int32");
  },
  wire: structs(intstrPackage)("IntOrString", "Integer or string on the wire.", {
    type: value(1, int64, "Which field is set: 0 for intVal, 1 for strVal."),
    intVal: value(2, int32, "Value as a 32-bit integer."),
    strVal: value(3, string, "Value as a string."),
  }),
  toWire: (value) =>
    typeof value === "string"
      ? { type: 1, intVal: 0, strVal: value }
      : { type: 0, intVal: value, strVal: "" },
  fromWire: (message: IntOrStringMessage) =>
    Number(message.type ?? 0) === 1 ? (message.strVal ?? "") : (message.intVal ?? 0),
  openapi: {
    type: "string",
    format: "int-or-string",
    v3: { oneOf: [{ type: "integer" }, { type: "string" }], format: "int-or-string" },
  },
  zero: 0,
  keptWhenEmpty: true,
});

/** A span of time in Go's notation (`1h30m0s`). */
export const duration: ScalarType<string> = scalar<string>({
  name: "Duration",
  package: metaPackage,
  doc: "Duration as a sequence of numbers with units: 1h30m or 500ms for example.",
  fromJson: (value) => {
    if (value === null) return "0s";
    if (typeof value !== "string") throw ScalarFault.mismatched(jsonTypeOf(value), "string");
    return formatDuration(parseDuration(value));
  },
  wire: meta("Duration", "Duration on the wire.", {
    duration: value(1, int64, "Length of the duration, in nanoseconds."),
  }),
  toWire: (value) => ({ duration: parseDuration(value) }),
  fromWire: (message: { readonly duration?: Int64 }) =>
    formatDuration(BigInt(message.duration ?? 0)),
  openapi: { type: "string" },
  zero: "0s",
  keptWhenEmpty: true,
});

/** Any JSON value, opaque to this API; null is none. */
export const rawExtension: ScalarType<unknown> = scalar<unknown>({
  name: "RawExtension",
  package: runtimePackage,
  doc: "Arbitrary JSON value, usually an object with apiVersion and kind.",
  fromJson: (value) => value,
  wire: structs(runtimePackage)("RawExtension", "Arbitrary JSON value on the wire.", {
    raw: pointer(1, textBytes, "Text of the JSON value."),
  }),
  toWire: (value) => (value === null ? {} : { raw: printJson(value) }),
  fromWire: (message: { readonly raw?: string }) => parsedText(message.raw),
  openapi: { type: "object" },
  zero: null,
  keptWhenEmpty: true,
});

/** The field set of a managedFields entry, opaque here; the largest part of many an object. */
export const fieldsV1: ScalarType<OpaqueJson | null> = scalar<OpaqueJson | null>({
  name: "FieldsV1",
  package: metaPackage,
  doc:
    "Set of fields as a trie of JSON objects. Its keys are `f:<field>`, `k:<keys of a list " +
    "item>`, `v:<value of a list item>`, `i:<index>` and `.` (the element itself).",
  fromJson: opaque,
  toJson: (value) => value?.value ?? null,
  wire: meta("FieldsV1", "Set of fields on the wire.", {
    Raw: pointer(1, textBytes, "JSON text of the set of fields."),
  }),
  toWire: (value) => (value === null ? {} : { Raw: value.text }),
  fromWire: (message: { readonly Raw?: string }) => opaque(parsedText(message.Raw)),
  openapi: { type: "object" },
  zero: null,
  keptWhenEmpty: true,
});

function opaque(value: unknown): OpaqueJson | null {
  checkDepth(value);
  return value === null ? null : OpaqueJson.of(value);
}

function timeFrom(
  value: unknown,
  parse: (text: string) => Instant,
  format: (instant: Instant) => string,
): string | null {
  if (value === null) return null;
  if (typeof value !== "string") throw ScalarFault.mismatched(jsonTypeOf(value), "string");
  return formatUnlessZero(parse(value), format);
}

function formatUnlessZero(instant: Instant, format: (instant: Instant) => string): string | null {
  return isZeroTime(instant) ? null : format(instant);
}

function canonicalQuantity(text: string): string {
  try {
    return Quantity.parse(trimGoSpace(text)).toString();
  } catch (error) {
    throw error instanceof QuantityFault ? new ScalarFault(error.message) : error;
  }
}

/** `trim()` of JavaScript also takes the byte order mark, which Go's TrimSpace leaves. */
function trimGoSpace(text: string): string {
  return text.includes("\ufeff") ? text : text.trim();
}

function int32From(value: unknown): number {
  const isNumber = typeof value === "number" && Number.isInteger(value);
  if (isNumber && value >= -(2 ** 31) && value < 2 ** 31) return value;
  const type = jsonTypeOf(value);
  throw ScalarFault.mismatched(type === "number" ? `number ${printJson(value)}` : type, "int32");
}

/** The JSON type of a value as Go's decoder names it. */
function jsonTypeOf(value: unknown): string {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number" || typeof value === "bigint") return "number";
  return Array.isArray(value) ? "array" : "object";
}

function parsedText(text: string | undefined): unknown {
  return text === undefined ? null : parseJson(text).value;
}
