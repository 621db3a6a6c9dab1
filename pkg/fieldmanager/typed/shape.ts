import { memoize } from "#base";
import {
  type Field,
  jsonFields,
  type JsonField,
  type ListShape,
  type MapShape,
  type MergeShape as Shape,
  resolved,
  type ScalarType,
  type StructType,
  type Type,
} from "#schema";

/**
 * The merge schema of a type. Derived here from the declarations of built-in kinds; pkg/structural
 * derives it from the schemas of custom resources, with `deduced` for unspecified parts.
 */
export type { ListShape, MapShape, MergeShape as Shape } from "#schema";

/** Any JSON value, managed as a whole. */
const opaque: Shape = {
  scalar: "untyped",
  get list(): ListShape {
    return { relation: "atomic", keys: [], element: opaque };
  },
  get map(): MapShape {
    return { atomic: true, fields: new Map(), element: opaque };
  },
};

const opaqueList: ListShape = { relation: "atomic", keys: [], element: opaque };

/** Any JSON value: objects merge key by key, lists are atomic. */
export const deduced: Shape = {
  scalar: "untyped",
  list: opaqueList,
  get map(): MapShape {
    return deducedMap;
  },
};

const deducedMap: MapShape = { atomic: false, fields: new Map(), element: deduced };

const text: Shape = { scalar: "string" };

/** The shape of the objects of a kind: that of its struct, and apiVersion and kind. */
export const rootShape = memoize((struct: StructType<any>): Shape => {
  const { fields, atomic, element } = structMap(struct);
  const open = struct.open?.mergeShape().map;
  const allFields = new Map([
    ...(open?.fields ?? []),
    ["apiVersion", text],
    ["kind", text],
    ...fields,
  ] as const);
  return { map: { atomic, fields: allFields, element: open?.element ?? element } };
});

const shapeOf = memoize((type: Type): Shape => {
  switch (type.tag) {
    case "string":
    case "bytes":
      return text;
    case "bool":
      return { scalar: "boolean" };
    case "int32":
    case "int64":
    case "double":
      return { scalar: "numeric" };
    case "scalar":
      return scalarShape(type);
    case "list":
      return { list: { relation: "atomic", keys: [], element: shapeOf(type.element) } };
    case "map":
      return { map: { atomic: false, fields: new Map(), element: shapeOf(type.value) } };
    case "struct":
      return { map: structMap(type) };
    case "lazy":
      // Terminates for recursive types, since it ends at a struct, whose fields are resolved on access.
      return shapeOf(type.resolve());
  }
});

/** The shape of a scalar by its published OpenAPI schema, as kube-apiserver derives it. */
function scalarShape({ openapi }: ScalarType): Shape {
  const { type, format, v3 } = openapi;
  if (v3?.["x-kubernetes-preserve-unknown-fields"] === true) return deduced;
  if (type === undefined || type === "object" || type === "array") return opaque;
  const plain = type === "string" && format === undefined && v3 === undefined;
  return { scalar: plain ? "string" : "untyped" };
}

const structMap = memoize((struct: StructType<any>): MapShape => {
  // Resolved on first access, since a struct may contain itself.
  let fields: ReadonlyMap<string, Shape> | undefined;
  return {
    atomic: struct.atomic === true,
    get fields() {
      fields ??= new Map(jsonFields(struct).map((field) => [field.name, fieldShape(field)]));
      return fields;
    },
    element: undefined,
  };
});

function fieldShape(field: JsonField): Shape {
  const type = resolved(field.type);
  const shape = shapeOf(type);
  if (type.tag === "list" && field.listType !== undefined && field.listType !== "atomic") {
    const relation = field.listType;
    const element = resolved(type.element as Type);
    const names = relation === "map" ? [...(field.listMapKeys ?? [])].sort() : [];
    const keys = names.map((name) => [name, absentKey(element, name)] as const);
    return { list: { relation, keys, element: shapeOf(element) } };
  }
  if (field.mapType !== undefined && shape.map !== undefined) {
    const { fields, element } = shape.map;
    return { map: { atomic: field.mapType === "atomic", fields, element } };
  }
  return shape;
}

/** The value of an omitted key: its declared default, or the zero value if JSON always contains it. */
function absentKey(element: Type, name: string): unknown {
  if (element.tag !== "struct") return undefined;
  const field = jsonFields(element).find((candidate) => candidate.name === name);
  if (field === undefined) return undefined;
  if (field.default !== undefined) return field.default;
  const { omitEmpty, pointer } = field.presence;
  return omitEmpty || pointer ? undefined : zeroKey(field);
}

function zeroKey(field: Field): unknown {
  switch (resolved(field.type).tag) {
    case "string":
      return "";
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "bool":
      return false;
    default:
      return undefined;
  }
}
