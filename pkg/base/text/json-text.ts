/** JSON text of any JSON-shaped value: what `JSON.stringify` prints, with bigints as integers. */

import { parseJsonText } from "./parse-json.ts";

/** Compact JSON. Recursive: the depth of values must have been limited by decoding. */
export function printJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    // Thrown for bigints; values from JSON have no cycles.
    if (error instanceof TypeError) return printWithBigints(value);
    throw error;
  }
}

function printWithBigints(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(printWithBigints).join(",")}]`;
  if (value instanceof OpaqueJson) return value.text;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const printed = entries.map(([key, inner]) => [JSON.stringify(key), printWithBigints(inner)]);
  return `{${printed.map((pair) => pair.join(":")).join(",")}}`;
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
  toJSON(): unknown {
    return this.value;
  }
}
