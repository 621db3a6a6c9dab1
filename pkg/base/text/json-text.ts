/** JSON text of any JSON-shaped value: what `JSON.stringify` prints, with bigints as integers. */

import { compareUtf8 } from "./bytes.ts";
import { keysInGoOrder } from "./go-key-order.ts";
import { slicedLevels, sliceLength, type Slices } from "../async/slices.ts";
import { parseJsonText } from "./parse-json.ts";

/** For values that can hold a bigint; `scripts/json-stringify.d.ts` closes JSON.stringify to them. */
const stringify: (value: unknown, replacer?: undefined, indent?: number) => string | undefined =
  JSON.stringify;

/**
 * JSON; `indent` applies unless the value holds a bigint. Recursive: the depth of values must have been
 * limited by decoding.
 */
export function printJson(value: unknown, indent?: number): string {
  try {
    return stringify(value, undefined, indent) ?? "null";
  } catch (error) {
    // Thrown for bigints; values from JSON have no cycles.
    if (error instanceof TypeError) return printWithBigints(value);
    throw error;
  }
}

/** As `printJson`, in slices: `JSON.stringify` of an object with 48,000 members takes 14 ms. */
function* printJsonInSlices(value: unknown, levels = slicedLevels): Slices<string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return printJson(value);
  if (levels === 0 || value instanceof OpaqueJson) return printJson(value);
  let text = "";
  for (const [index, key] of Object.keys(value).entries()) {
    if (index % sliceLength === 0) yield;
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member === undefined) continue;
    const printed = levels > 1 ? yield* printJsonInSlices(member, levels - 1) : printJson(member);
    text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${printed}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

type Members = Readonly<Record<string, unknown>>;

/** Compact JSON; the keys of objects that `isSorted` accepts are sorted, as Go prints maps. */
export function printSortedJson(
  value: unknown,
  isSorted: (object: Members) => boolean = () => true,
): string {
  return printWith(value, (object) => {
    const keys = Object.keys(object);
    return isSorted(object) ? keys.sort(compareUtf8) : keys;
  });
}

/** As `printJson`, with `keysInGoOrder`; for messages. */
export function printGoJson(value: unknown): string {
  return printWith(value, keysInGoOrder);
}

function printWithBigints(value: unknown): string {
  return printWith(value, Object.keys);
}

function printWith(value: unknown, keysOf: (object: Members) => readonly string[]): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => printWith(item, keysOf)).join(",")}]`;
  if (value instanceof OpaqueJson) {
    return keysOf === Object.keys ? value.text : printWith(value.value, keysOf);
  }
  const members = value as Members;
  const printed = keysOf(members)
    .filter((key) => members[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${printWith(members[key], keysOf)}`);
  return `{${printed.join(",")}}`;
}

/**
 * A JSON value that is parsed on the first access to the value, and printed on the first access to the
 * text. Copies of an object share it, so that the value must not be modified.
 */
export class OpaqueJson {
  #value: unknown;
  #text: string | undefined;

  private constructor(value: unknown, text: string | undefined) {
    this.#value = value;
    this.#text = text;
  }

  static of(value: unknown): OpaqueJson {
    return new OpaqueJson(value, undefined);
  }
  /** `text` must be what a value prints as. */
  static printed(text: string): OpaqueJson {
    return new OpaqueJson(undefined, text);
  }
  /** The value itself, however it is carried. */
  static valueOf(carried: unknown): unknown {
    return carried instanceof OpaqueJson ? carried.value : carried;
  }

  get value(): unknown {
    this.#value ??= parseJsonText(this.#text as string);
    return this.#value;
  }
  get text(): string {
    this.#text ??= printJson(this.#value);
    return this.#text;
  }
  /** Length of the text; undefined while the value is not printed. */
  get length(): number | undefined {
    return this.#text?.length;
  }
  /** Prints the value in slices, so that `text` is at hand. */
  *print(): Slices<void> {
    this.#text ??= yield* printJsonInSlices(this.#value);
  }
  toJSON(): unknown {
    return this.value;
  }
}
