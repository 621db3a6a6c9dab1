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
 * What merging needs to know of a type. Folded from the declarations of built-in kinds; the schema
 * of a custom resource is brought into this form elsewhere, with `deduced` for what it leaves open.
 */
export type { ListShape, MapShape, MergeShape as Shape } from "#schema";

/** Any JSON, one unit. */
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

/** Any JSON: objects merge key by key, lists are units. */
export const deduced: Shape = {
  scalar: "untyped",
  list: opaqueList,
  get map(): MapShape {
    return deducedMap;
  },
};

const deducedMap: MapShape = { atomic: false, fields: new Map(), element: deduced };

const text: Shape = { scalar: "string" };

/** The shape of a whole object of a kind: that of its struct, and what names kind and version. */
export const rootShape = memoize((struct: StructType<any>): Shape => {
  const { fields, atomic, element } = structMap(struct);
  const open = struct.open?.mergeShape().map;
  const all = new Map([
    ...(open?.fields ?? []),
    ["apiVersion", text],
    ["kind", text],
    ...fields,
  ] as const);
  return { map: { atomic, fields: all, element: open?.element ?? element } };
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
      // Ends at a struct, whose fields wait.
      return shapeOf(type.resolve());
  }
});

/** As the published schema shows the scalar, since that is what Kubernetes merges by. */
function scalarShape({ openapi }: ScalarType): Shape {
  const { type, format, v3 } = openapi;
  if (v3?.["x-kubernetes-preserve-unknown-fields"] === true) return deduced;
  if (type === undefined || type === "object" || type === "array") return opaque;
  const plain = type === "string" && format === undefined && v3 === undefined;
  return { scalar: plain ? "string" : "untyped" };
}

const structMap = memoize((struct: StructType<any>): MapShape => {
  // Fields are looked up when they are met, since a struct may contain itself.
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

/** Keys that are always written have a zero value; others may declare a default. */
function absentKey(element: Type, name: string): unknown {
  if (element.tag !== "struct") return undefined;
  const field = jsonFields(element).find((each) => each.name === name);
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
