import { jsonFields, resolved } from "./layout.ts";
import type { JsonField } from "./layout.ts";
import type { StructType, Type } from "./types.ts";

/**
 * Makes the zero value of a type (a list's or map's element that was null), or of a field that is
 * always there: null for a pointer, list or map, Go's zero value otherwise. Structs are made afresh
 * each time.
 */
export function zeroOf(of: Type | JsonField): () => unknown {
  if (!("presence" in of)) return zeroOfType(of);
  const type = resolved(of.type);
  const isNull =
    of.presence.pointer || type.tag === "list" || type.tag === "map" || type.tag === "bytes";
  return isNull ? () => null : zeroOfType(of.type);
}

function zeroOfType(type: Type): () => unknown {
  switch (type.tag) {
    case "string":
    case "bytes":
      return () => "";
    case "bool":
      return () => false;
    case "int32":
    case "int64":
    case "double":
      return () => 0;
    case "scalar": {
      const { zero } = type;
      return () => zero;
    }
    case "list":
    case "map":
      return () => null;
    case "struct":
      return zeroStruct(type);
    case "lazy":
      return () => zeroOfType(type.resolve())();
  }
}

function zeroStruct(struct: StructType<any>): () => Record<string, unknown> {
  let parts: readonly (readonly [string, () => unknown])[] | undefined;
  return () => {
    parts ??= jsonFields(struct)
      .filter(isAlwaysThere)
      .map((field) => [field.name, zeroOf(field)] as const);
    return Object.fromEntries(parts.map(([name, zero]) => [name, zero()]));
  };
}

/** Whether the field has a value in normal form even if the client sent none. */
export function isAlwaysThere(field: JsonField): boolean {
  if (!field.presence.omitEmpty) return true;
  if (field.presence.pointer) return false;
  const type = resolved(field.type);
  if (type.tag === "scalar") return type.keptWhenEmpty === true && !field.omitZero;
  return type.tag === "struct";
}
