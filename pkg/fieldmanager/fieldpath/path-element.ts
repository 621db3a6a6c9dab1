import { compareUtf8, printJson } from "#base";
import { goQuote } from "#meta";
import { escapedForHtml, parseExactJson } from "#schema";

/**
 * A path element in the notation of FieldsV1: `f:name` is a field, `k:{..}` the list item with these
 * keys, `v:..` the set item with this value, `i:3` an index. The text is canonical (keys sorted, JSON
 * as Go prints it), so that equal elements are equal strings.
 */
export type PathElement = string;

/** Key in a FieldsV1 object: the path to that object is itself a member of the set. */
export const selfKey = ".";

/** Malformed FieldsV1; the message is part of the Status of an apply. */
export class FieldSetError extends Error {
  override readonly name = "FieldSetError";
}

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

export function valueElement(value: unknown): PathElement {
  return `v:${goJson(value)}`;
}

/** `keys` must be sorted by name. */
export function keyElement(
  keys: readonly (readonly [name: string, value: unknown])[],
): PathElement {
  let members = "";
  for (const [name, value] of keys) {
    members += `${members === "" ? "" : ","}${goJson(name)}:${goJson(value)}`;
  }
  return `k:{${members}}`;
}

const plain = /^[\w ./:@-]*$/;

/** Whether the text has only characters that JSON does not escape; may be false for others, too. */
export function isPlain(text: string): boolean {
  return plain.test(text);
}

/** Compact JSON as encoding/json prints it: keys sorted, `<`, `>` and `&` escaped. */
function goJson(value: unknown): string {
  if (typeof value === "string") {
    return isPlain(value) ? `"${value}"` : escapedForHtml(JSON.stringify(value));
  }
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return printJson(value);
  const members = Object.entries(value)
    .sort(([a], [b]) => compareUtf8(a, b))
    .map(([key, inner]) => `${goJson(key)}:${goJson(inner)}`);
  return `{${members.join(",")}}`;
}

/** A canonical `k:` element with one or two keys with plain strings or integers: the common case. */
const plainKeyElement = ((): RegExp => {
  const member = String.raw`"(\w+)":("[\w ./:@-]*"|0|[1-9]\d{0,14})`;
  return new RegExp(`^k:\\{${member}(?:,${member})?\\}$`);
})();

/**
 * The canonical form of a path element that a client or another server wrote; undefined for an unknown
 * kind of element, which is ignored.
 *
 * @throws FieldSetError
 */
export function canonicalElement(text: string): PathElement | undefined {
  if (text.startsWith("f:")) return text;
  const [, first = "", , second] = plainKeyElement.exec(text) ?? [];
  if (first !== "" && (second === undefined || first < second)) return text;
  if (text.length < 2) throw new FieldSetError("key must be 2 characters long");
  if (text[1] !== ":") throw new FieldSetError(`missing colon: ${text}`);
  switch (text[0]) {
    case "f":
      return text;
    case "v":
      return valueElement(parseElementJson(text));
    case "k":
      return keyElement(keysOf(text));
    case "i":
      return `i:${indexOf(text)}`;
    default:
      return undefined;
  }
}

function parseElementJson(text: string): unknown {
  try {
    return parseExactJson(text.slice(2));
  } catch {
    throw new FieldSetError(`parsing key as path element: ${text}`);
  }
}

function keysOf(text: string): [string, unknown][] {
  const [, name = "", value = "", otherName = "", otherValue = ""] =
    plainKeyElement.exec(text) ?? [];
  if (name !== "" && otherName === "") return [[name, plainValue(value)]];
  if (name !== "" && name < otherName) {
    return [
      [name, plainValue(value)],
      [otherName, plainValue(otherValue)],
    ];
  }
  const keys = parseElementJson(text) ?? {};
  if (typeof keys !== "object" || Array.isArray(keys)) {
    throw new FieldSetError(`parsing key as path element: ${text}`);
  }
  return Object.entries(keys).sort(([a], [b]) => compareUtf8(a, b));
}

/** A string without escapes, or an integer, as `plainKeyElement` matches them. */
function plainValue(text: string): string | number {
  return text.startsWith('"') ? text.slice(1, -1) : Number(text);
}

function indexOf(text: string): number {
  const digits = text.slice(2);
  const index = Number(digits);
  if (!/^[+-]?\d+$/.test(digits) || !Number.isSafeInteger(index)) {
    throw new FieldSetError(`parsing key as path element: ${text}`);
  }
  return index;
}

/** Kinds of elements in the order in which sets list them. */
const kindOrder = ".fkvi";

/** The order of elements in a set: fields, keys, values, indexes; within a kind by their values. */
export function compareElements(left: PathElement, right: PathElement): number {
  if (left === right) return 0;
  // Indexed, not destructured, which runs an iterator: large sets are sorted with this function.
  const kind = left[0];
  if (kind !== right[0]) return kindOrder.indexOf(kind ?? "") - kindOrder.indexOf(right[0] ?? "");
  switch (kind) {
    case "k":
      return compareSingleKeys(left, right) ?? compareKeys(keysOf(left), keysOf(right));
    case "v":
      return compareValues(parseElementJson(left), parseElementJson(right));
    case "i":
      return indexOf(left) - indexOf(right);
    default:
      return compareUtf8(left, right);
  }
}

/** A function like `compareElements` that parses the keys of each element once, to sort many elements. */
export function elementComparer(): (left: PathElement, right: PathElement) => number {
  const known = new Map<PathElement, [string, unknown][]>();
  const keys = (element: PathElement): [string, unknown][] => {
    let parsed = known.get(element);
    if (parsed === undefined) known.set(element, (parsed = keysOf(element)));
    return parsed;
  };
  return (left, right) =>
    left[0] === "k" && right[0] === "k" && left !== right
      ? (compareSingleKeys(left, right) ?? compareKeys(keys(left), keys(right)))
      : compareElements(left, right);
}

/** Compares two elements whose only key is the same and has a string value; undefined for others. */
function compareSingleKeys(left: PathElement, right: PathElement): number | undefined {
  const start = left.indexOf('":"') + 3;
  if (start < 3 || !right.startsWith(left.slice(0, start))) return undefined;
  const [end, otherEnd] = [left.length - 2, right.length - 2];
  if (left.indexOf('"', start) !== end || right.indexOf('"', start) !== otherEnd) return undefined;
  if (left.includes("\\") || right.includes("\\")) return undefined;
  return compareUtf8(left.slice(start, end), right.slice(start, otherEnd));
}

function compareKeys(
  left: readonly (readonly [string, unknown])[],
  right: readonly (readonly [string, unknown])[],
): number {
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareUtf8(name, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** The order of structured-merge-diff: numbers, strings, booleans, lists, objects, null. */
function compareValues(left: unknown, right: unknown): number {
  const kinds = valueRank(left) - valueRank(right);
  if (kinds !== 0) return kinds;
  if (typeof left === "string") return compareUtf8(left, right as string);
  if (Array.isArray(left)) return compareLists(left, right as unknown[]);
  if (typeof left === "object" && left !== null) {
    return compareKeys(sortedEntries(left), sortedEntries(right as object));
  }
  const [a, b] = [left as number | bigint | boolean, right as number | bigint | boolean];
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortedEntries(value: object): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
}

function compareLists(left: readonly unknown[], right: readonly unknown[]): number {
  for (const [index, value] of left.entries()) {
    if (index >= right.length) return 1;
    const order = compareValues(value, right[index]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function valueRank(value: unknown): number {
  if (typeof value === "number" || typeof value === "bigint") return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (Array.isArray(value)) return 3;
  return value === null ? 5 : 4;
}

/** The element as conflict messages print it: `.name`, `[name="a"]`, `[="value"]`, `[3]`. */
export function describeElement(element: PathElement): string {
  switch (element[0]) {
    case "k": {
      const keys = keysOf(element).map(([name, value]) => `${name}=${describeValue(value)}`);
      return `[${keys.join(",")}]`;
    }
    case "v":
      return `[=${describeValue(parseElementJson(element))}]`;
    case "i":
      return `[${element.slice(2)}]`;
    default:
      return `.${element.slice(2)}`;
  }
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "string") return goQuote(value);
  if (Array.isArray(value)) return `[${value.map(describeValue).join(",")}]`;
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([key, inner]) => `${key}=${describeValue(inner)}`)
    .join("");
}
