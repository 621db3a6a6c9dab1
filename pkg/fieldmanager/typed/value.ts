import {
  atOnce,
  isJsonObject,
  type JsonObject,
  slicedLevels,
  sliceLength,
  type Slices,
} from "#base";
import { goQuote } from "#meta";
import { keyElement, type PathElement, valueElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";

/** A list item without a valid path element, such as one that omits all keys. */
export class ElementError extends Error {
  override readonly name = "ElementError";
}

/** The number of levels of the objects that are to be processed in slices; 0 if none of them is large. */
export function slicedLevelsOf(...objects: readonly JsonObject[]): number {
  return objects.some((object) => isLarge(object)) ? slicedLevels : 0;
}

/** Whether a map or list of the sliced levels has more members than a slice. */
function isLarge(value: object, levels = slicedLevels): boolean {
  if (Array.isArray(value)) return value.length > sliceLength;
  let count = 0;
  for (const name in value) {
    if (++count > sliceLength) return true;
    const member = (value as JsonObject)[name];
    if (
      levels > 1 &&
      typeof member === "object" &&
      member !== null &&
      isLarge(member, levels - 1)
    ) {
      return true;
    }
  }
  return false;
}

/** The form of a value among those that its shape allows. */
export type Form = "scalar" | "list" | "map" | "any";

/**
 * The form of a value; `any` for a value that is null, absent or of another form, if its shape allows
 * several.
 */
export function formOf(shape: Shape, value: unknown): Form {
  const { scalar, list, map } = shape;
  if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) {
      if (list !== undefined) return "list";
    } else if (map !== undefined) return "map";
  } else if (value !== undefined && value !== null && scalar !== undefined) return "scalar";
  return onlyForm(shape);
}

function onlyForm({ scalar, list, map }: Shape): Form {
  if (map !== undefined) return scalar === undefined && list === undefined ? "map" : "any";
  if (scalar !== undefined) return list === undefined ? "scalar" : "any";
  return "list";
}

/** The form as which a value is processed: `any` becomes the first of map, scalar and list in the shape. */
export function treatedAs(shape: Shape, form: Form): "scalar" | "list" | "map" {
  if (form !== "any") return form;
  return shape.map !== undefined ? "map" : shape.scalar !== undefined ? "scalar" : "list";
}

/** The value if it is a list. */
export function listIn(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** The value if it is an object. */
export function mapIn(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function isEmptyMap(map: JsonObject | undefined): boolean {
  for (const _key in map) return false;
  return true;
}

export function memberShape(map: MapShape, name: string): Shape {
  const shape = map.fields.get(name) ?? map.element;
  // Requests with unknown fields were rejected before; in stored objects such fields are atomic.
  return shape ?? unknownField;
}

const unknownField: Shape = { scalar: "untyped" };

/**
 * The path element of an item of an associative list.
 *
 * @throws ElementError
 */
export function elementOf(list: ListShape, item: unknown): PathElement {
  return list.relation === "map" ? keyedElement(list, item) : valueOf(item);
}

function keyedElement(list: ListShape, item: unknown): PathElement {
  if (item === null) {
    throw new ElementError("associative list with keys may not have a null element");
  }
  if (!isJsonObject(item)) {
    throw new ElementError("associative list with keys may not have non-map elements");
  }
  const keys: (readonly [name: string, value: unknown])[] = [];
  for (const [name, fallback] of list.keys) {
    const value = Object.hasOwn(item, name) ? item[name] : fallback;
    // One key is enough: validation reports missing required keys.
    if (value !== undefined) keys.push([name, value]);
  }
  if (keys.length > 0) return keyElement(keys);
  const names = list.keys.map(([name]) => goQuote(name)).join(" ");
  throw new ElementError(
    `associative list with keys has an element that omits all key fields [${names}] ` +
      "(and doesn't have default values for any key fields)",
  );
}

function valueOf(item: unknown): PathElement {
  if (item === null) {
    throw new ElementError("associative list without keys has an element that's an explicit null");
  }
  if (Array.isArray(item)) {
    throw new ElementError("not supported: associative list with lists as elements");
  }
  if (typeof item === "object") {
    throw new ElementError("associative list without keys has an element that's a map type");
  }
  return valueElement(item);
}

/**
 * The items by path element, in order of first appearance; several items if their keys are duplicates.
 *
 * @throws ElementError
 */
export function* itemsByElementInSlices(
  list: ListShape,
  items: readonly unknown[],
): Slices<ReadonlyMap<PathElement, readonly unknown[]>> {
  const byElement = new Map<PathElement, unknown[]>();
  let count = 0;
  for (const item of items) {
    const element = elementOf(list, item);
    const same = byElement.get(element);
    if (same === undefined) byElement.set(element, [item]);
    else same.push(item);
    if (++count % sliceLength === 0) yield;
  }
  return byElement;
}

/** As `itemsByElementInSlices`, in one pass. */
export function itemsByElement(
  list: ListShape,
  items: readonly unknown[],
): ReadonlyMap<PathElement, readonly unknown[]> {
  return atOnce(itemsByElementInSlices(list, items));
}
