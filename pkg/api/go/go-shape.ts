import { assign, sortedKeys } from "#base";
import { labelSelector } from "#meta";
import {
  fieldNamed,
  type Infer,
  jsonFields,
  map,
  resolved,
  string,
  type StructType,
  toJsonValue,
  type Type,
} from "#schema";
import { goFieldName, goFieldOrder, hostFields } from "./go-names.ts";

type Shape = Record<string, unknown>;

/**
 * An object as Kubernetes prints its internal Go struct in `Invalid value: …`: Go's field names,
 * absent fields as null or zero value, map keys sorted.
 */
export function goShape(struct: StructType<any>, object: object): Shape {
  const values = object as Readonly<Shape>;
  // Types shared by API versions have no internal variant and keep their JSON names.
  if (struct.package.startsWith("apimachinery/")) return toJsonValue(struct, values as never);
  const shape: Shape = {};
  for (const { name, type, presence } of jsonFields(struct)) {
    const value = values[name];
    const isAbsent = value === undefined || value === null;
    const target = resolved(type);
    if (target.tag === "struct" && target.name === "ObjectMeta") {
      Object.assign(shape, goShape(target, (value ?? {}) as object));
      continue;
    }
    const shown = isAbsent && presence.pointer ? null : goValue(target, value);
    assign(shape, goFieldName(struct.name, name), shown);
  }
  if (struct.name === "PodSpec") moveHostFields(struct, shape);
  const order = goFieldOrder(struct.name);
  return order === undefined ? shape : pick(shape, order);
}

/** A value of any type, see `goShape`. */
export function goValue(type: Type, value: unknown): unknown {
  const target = resolved(type);
  const isAbsent = value === undefined || value === null;
  switch (target.tag) {
    case "struct":
      return goShape(target, isAbsent ? {} : (value as object));
    case "list":
      return isAbsent ? null : (value as unknown[]).map((each) => goValue(target.element, each));
    case "map":
      return isAbsent ? null : sortedShape(target.value, value as Readonly<Shape>);
    case "string":
      return value ?? "";
    case "bool":
      return value ?? false;
    case "int32":
    case "int64":
    case "double":
      return value ?? 0;
    case "scalar":
      return value ?? target.zero;
    default:
      return value ?? null;
  }
}

const labelMap = map(string);

/** Labels as Go prints a map: sorted by key. */
export function goLabels(labels: Readonly<Record<string, string>> | null | undefined): unknown {
  return goValue(labelMap, labels);
}

/** Label selector as Go prints the struct. */
export function goSelector(selector: Infer<typeof labelSelector> | null | undefined): unknown {
  return selector === null || selector === undefined ? null : goShape(labelSelector, selector);
}

function sortedShape(type: Type, values: Readonly<Shape>): Shape {
  const shape: Shape = {};
  for (const key of sortedKeys(values)) assign(shape, key, goValue(type, values[key]));
  return shape;
}

function moveHostFields(podSpec: StructType<any>, shape: Shape): void {
  const context = fieldNamed(podSpec, "securityContext")!.type;
  const others = shape["SecurityContext"] ?? goValue(context, {});
  shape["SecurityContext"] = { ...pick(shape, hostFields), ...(others as Shape) };
}

function pick(shape: Readonly<Shape>, names: readonly string[]): Shape {
  return Object.fromEntries(names.map((name) => [name, shape[name]]));
}
