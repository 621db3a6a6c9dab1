import { JsonObject, adapt } from "./json-values.ts";
import { formatGoSpan, formatTimestamp } from "./time.ts";
import { dyn } from "../check/types.ts";
import {
  ArrayList,
  CelFault,
  Double,
  Duration,
  HashMap,
  ListValue,
  MapValue,
  Opaque,
  OptionalValue,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";

/**
 * Converts a value to JSON.
 * @throws CelFault for a value that JSON cannot represent, such as a map with keys other than strings
 */
export function plainJson(value: Value): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ListValue) return [...value].map(plainJson);
  if (value instanceof MapValue) return plainMap(value);
  if (value instanceof Double) return finite(value.value);
  if (value instanceof Uint) return plainUint(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatGoSpan(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Opaque && typeof value.key === "string") return value.key;
  if (value instanceof OptionalValue && value.value !== undefined) return plainJson(value.value);
  throw new CelFault("unsupported conversion to JSON");
}

/** A value of a Go type that JSON does not have, as Go prints it. */
export interface GoNative {
  /** `%T`: `time.Duration` */
  readonly type: string;
  /** `%v`: `1h0m0s` */
  readonly text: string;
  /** `%#v`: `3600000000000` */
  readonly literal: string;
}

/**
 * Converts a constructed object (an apply configuration) to JSON as Kubernetes does: nulls, bytes, times,
 * durations and unsigned numbers keep their Go types and are replaced by the result of `native`.
 */
export function configurationJson(value: Value, native: (value: GoNative) => unknown): unknown {
  const known = goNative(value);
  if (known !== undefined) return native(known);
  if (value instanceof ArrayList) return [...value].map((item) => configurationJson(item, native));
  if (value instanceof JsonObject && value.typeName !== "map") {
    return mapped(Object.entries(value.raw) as [string, Value][], native);
  }
  if (!(value instanceof HashMap)) return plainJson(value);
  const entries = [...value.keys()].map((key) => [key, value.find(key) ?? null] as const);
  return mapped(entries, native);
}

function mapped(
  entries: readonly (readonly [key: Value, value: Value])[],
  native: (value: GoNative) => unknown,
): Record<string, unknown> {
  const made: Record<string, unknown> = Object.create(null);
  for (const [key, value] of entries)
    made[String(plainJson(key))] = configurationJson(value, native);
  return made;
}

function goNative(value: Value): GoNative | undefined {
  if (value === null) return { type: "structpb.NullValue", text: "NULL_VALUE", literal: "0" };
  if (value instanceof Uint) {
    const { value: number } = value;
    return { type: "uint64", text: String(number), literal: `0x${number.toString(16)}` };
  }
  if (value instanceof Uint8Array) {
    const bytes = [...value].map((byte) => `0x${byte.toString(16)}`);
    return {
      type: "[]uint8",
      text: `[${value.join(" ")}]`,
      literal: `[]uint8{${bytes.join(", ")}}`,
    };
  }
  if (value instanceof Duration) {
    const text = formatGoSpan(value);
    return { type: "time.Duration", text, literal: String(value.nanos) };
  }
  if (!(value instanceof Timestamp)) return undefined;
  const text = formatTimestamp(value).replace("T", " ").replace("Z", " +0000 UTC");
  return { type: "time.Time", text, literal: goDate(value) };
}

const months =
  "January February March April May June July August September October November December".split(
    " ",
  );

/** `time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)` */
function goDate({ seconds, nanos }: Timestamp): string {
  const date = new Date(seconds * 1000);
  const parts = [
    date.getUTCFullYear(),
    `time.${months[date.getUTCMonth()] ?? ""}`,
    date.getUTCDate(),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
    nanos,
  ];
  return `time.Date(${parts.join(", ")}, time.UTC)`;
}

/**
 * Errors of the type names of constructed objects: a name must be the path from the root type
 * (`Object.spec`). Elements of lists and maps have the path of their collection.
 */
export function typeNameFaults(value: Value, path?: string): readonly string[] {
  if (value instanceof ListValue) {
    return [...value].flatMap((item) => typeNameFaults(item, path));
  }
  if (!(value instanceof MapValue)) return [];
  if (value instanceof JsonObject && value.typeName !== "map") {
    const { typeName: name } = value;
    const expected = path ?? name;
    const faults = Object.entries(value.raw).flatMap(([key, member]) =>
      typeNameFaults(member as Value, `${expected}.${key}`),
    );
    const why = "which matches field name path from root Object type";
    const own = `unexpected type name "${name}", expected "${expected}", ${why}`;
    return name === expected ? faults : [own, ...faults];
  }
  // Request data contains no constructed objects.
  if (!(value instanceof HashMap)) return [];
  return [...value.keys()].flatMap((key) => typeNameFaults(value.find(key) ?? null, path));
}

function finite(number: number): number {
  if (Number.isFinite(number)) return number;
  const text = Number.isNaN(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
  throw new CelFault(
    "json: error calling MarshalJSON for type *structpb.Value: " +
      `proto: google.protobuf.Value.number_value: invalid ${text} value`,
  );
}

function plainUint(value: bigint): number | bigint {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

function plainMap(map: MapValue): Record<string, unknown> {
  // Clients choose the names: `__proto__` must become an ordinary property.
  const object: Record<string, unknown> = Object.create(null);
  if (map instanceof JsonObject) {
    for (const [key, raw] of Object.entries(map.raw)) object[key] = plainJson(adapt(raw, dyn));
    return object;
  }
  for (const key of map.keys()) {
    if (typeof key !== "string") {
      const isBool = typeof key === "boolean";
      throw new CelFault(
        isBool
          ? "type conversion error from bool to 'string'"
          : `unsupported type conversion from '${typeName(key)}' to string`,
      );
    }
    object[key] = plainJson(map.find(key) ?? null);
  }
  return object;
}
