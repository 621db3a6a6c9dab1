import { assign } from "#base";
import { jsonFields, resolved, type StructType, type Type } from "#schema";

/** Names that are no mere capitalisation of those in JSON. */
const otherNames: Readonly<Record<string, string>> = {
  apiGroup: "APIGroup",
  apiGroups: "APIGroups",
};

/**
 * An object as Kubernetes prints its struct in Go: names capitalised, everything absent shown as
 * null or as its zero value. For the value in `Invalid value: …`.
 */
export function goShape(struct: StructType<any>, object: object): Record<string, unknown> {
  const values = object as Readonly<Record<string, unknown>>;
  const shape: Record<string, unknown> = {};
  for (const { name, type, presence } of jsonFields(struct)) {
    const value = values[name];
    const key = otherNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
    const isAbsent = value === undefined || value === null;
    assign(shape, key, isAbsent && presence.pointer ? null : shapeOf(type, value));
  }
  return shape;
}

function shapeOf(type: Type, value: unknown): unknown {
  const target = resolved(type);
  const isAbsent = value === undefined || value === null;
  switch (target.tag) {
    case "struct":
      return goShape(target, isAbsent ? {} : (value as object));
    case "list":
      return isAbsent ? null : (value as unknown[]).map((each) => shapeOf(target.element, each));
    case "string":
      return value ?? "";
    case "bool":
      return value ?? false;
    case "int32":
    case "int64":
    case "double":
      return value ?? 0;
    default:
      return value ?? null;
  }
}
