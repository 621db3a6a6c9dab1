import { JsonObject, adapt } from "./json-values.ts";
import { formatGoSpan, formatTimestamp } from "./time.ts";
import { dyn } from "../check/types.ts";
import {
  CelFault,
  Double,
  Duration,
  HashMap,
  ListValue,
  MapValue,
  Opaque,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";

/** Converts a value to JSON. @throws CelFault for a value that JSON cannot represent */
export function plainJson(value: Value): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ListValue) return [...value].map(plainJson);
  if (value instanceof MapValue) return plainMap(value);
  if (value instanceof Double) return value.value;
  if (value instanceof Uint) return plainUint(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatGoSpan(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Opaque && typeof value.key === "string") return value.key;
  if (value instanceof OptionalValue && value.value !== undefined) return plainJson(value.value);
  throw new CelFault("unsupported conversion to JSON");
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

function plainUint(value: bigint): number | bigint {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

function plainMap(map: MapValue): Record<string, unknown> {
  // Clients choose the names: `__proto__` must become an ordinary property.
  const made: Record<string, unknown> = Object.create(null);
  if (map instanceof JsonObject) {
    for (const [key, raw] of Object.entries(map.raw)) made[key] = plainJson(adapt(raw, dyn));
    return made;
  }
  for (const key of map.keys()) made[String(plainJson(key))] = plainJson(map.find(key) ?? null);
  return made;
}
