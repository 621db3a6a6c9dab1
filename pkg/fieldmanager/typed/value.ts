import { atOnce, isJsonObject, type JsonObject, type Slices } from "#base";
import { goQuote } from "#meta";
import { keyElement, type PathElement, valueElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";

/** An element of a list that cannot be told from others; the message says why. */
export class ElementError extends Error {
  override readonly name = "ElementError";
}

/** How many members of a map or items of a list are looked at within a millisecond or two. */
export const sliceLength = 1000;

/** Levels of maps that are looked at in slices; what lies deeper is looked at in one pass. */
export const slicedLevels = 3;

/** Whether a map or list of the sliced levels has more members than a slice. */
export function isLarge(value: object, levels = slicedLevels): boolean {
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

/** Which of the forms that its shape allows a value has. */
export type Form = "scalar" | "list" | "map" | "any";

/**
 * `any` if the shape allows several and the value, which is then null or absent or of none of the
 * forms, does not decide; it is treated as the first that the shape allows.
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

/** The form that a value is treated as. */
export function treatedAs(shape: Shape, form: Form): "scalar" | "list" | "map" {
  if (form !== "any") return form;
  return shape.map !== undefined ? "map" : shape.scalar !== undefined ? "scalar" : "list";
}

/** The list, if it is one. */
export function listIn(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** The object, if it is one. */
export function mapIn(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function isEmptyMap(map: JsonObject | undefined): boolean {
  for (const _key in map) return false;
  return true;
}

export function memberShape(map: MapShape, name: string): Shape {
  const shape = map.fields.get(name) ?? map.element;
  // Unknown fields were refused before; in what another server stored they are units.
  return shape ?? unknownField;
}

const unknownField: Shape = { scalar: "untyped" };

/**
 * How an element of an associative list is told from others.
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
  for (const [name, absent] of list.keys) {
    const value = Object.hasOwn(item, name) ? item[name] : absent;
    // One key is enough: that others are required is for the validation to say.
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
 * Elements in order of first appearance, each with all items that it stands for.
 *
 * @throws ElementError
 */
export function* itemsByElementInSlices(
  list: ListShape,
  items: readonly unknown[],
): Slices<ReadonlyMap<PathElement, readonly unknown[]>> {
  const found = new Map<PathElement, unknown[]>();
  let count = 0;
  for (const item of items) {
    const element = elementOf(list, item);
    const same = found.get(element);
    if (same === undefined) found.set(element, [item]);
    else same.push(item);
    if (++count % sliceLength === 0) yield;
  }
  return found;
}

/** As `itemsByElementInSlices`, in one pass. */
export function itemsByElement(
  list: ListShape,
  items: readonly unknown[],
): ReadonlyMap<PathElement, readonly unknown[]> {
  return atOnce(itemsByElementInSlices(list, items));
}
