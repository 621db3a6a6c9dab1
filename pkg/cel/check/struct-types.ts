/** CEL types of built-in kinds. */
import { memoize } from "#base";
import { fieldNamed, type FieldRules, resolved, type StructType, type Type } from "#schema";
import { unescapeProperty } from "../syntax/escape.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  dyn,
  int,
  listOf,
  mapOf,
  objectOf,
  type ObjectField,
  string,
  timestamp,
  withSemantics,
} from "./types.ts";

/** The CEL type of a struct; memoized. */
export const structType = memoize((struct: StructType<any>): CelType =>
  objectOf({ name: `${struct.package}.${struct.name}`, field: (name) => member(struct, name) }),
);

/** The CEL type of a kind, with apiVersion and kind, which objects in memory lack. */
export const kindType = memoize((struct: StructType<any>): CelType => {
  const identity = new Set(["apiVersion", "kind"]);
  return objectOf({
    name: `${struct.package}.${struct.name}`,
    field: (name) => (identity.has(name) ? { key: name, type: string } : member(struct, name)),
  });
});

function member(struct: StructType<any>, name: string): ObjectField | undefined {
  const key = unescapeProperty(name);
  const field = key === undefined ? undefined : fieldNamed(struct, key);
  if (key === undefined || field === undefined) return undefined;
  return { key, type: fieldType(field.type, field) };
}

function fieldType(declared: Type, rules: FieldRules): CelType {
  const type = valueType(declared);
  if (type.kind !== "list") return type;
  if (rules.listType === "set") return withSemantics(type, { kind: "set" });
  if (rules.listType !== "map") return type;
  return withSemantics(type, { kind: "map", keys: rules.listMapKeys ?? [] });
}

function valueType(declared: Type): CelType {
  const type = resolved(declared);
  switch (type.tag) {
    case "string":
      return string;
    case "bool":
      return bool;
    case "int32":
    case "int64":
      return int;
    case "double":
      return double;
    case "bytes":
      return bytes;
    case "list":
      return listOf(valueType(type.element));
    case "map":
      return mapOf(string, valueType(type.value));
    case "struct":
      return structType(type);
    case "scalar": {
      const { type: shape, format, v3 } = type.openapi;
      if (format === "date-time") return timestamp;
      return shape === "string" && format === undefined && v3 === undefined ? string : dyn;
    }
  }
}
