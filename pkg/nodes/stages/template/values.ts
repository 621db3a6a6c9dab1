/** Values of templates: JSON, where null and undefined are Go's nil. */
import { RenderFault } from "./fault.ts";

export type Dict = Readonly<Record<string, unknown>>;

export function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isNil(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** Whether `if` and `with` treat a value as true: it is not the zero value of its type. */
export function isTruthy(value: unknown): boolean {
  if (isNil(value)) return false;
  if (Array.isArray(value)) return value.length > 0;
  if (isDict(value)) return Object.keys(value).length > 0;
  return value !== false && value !== "" && Number(value) !== 0;
}

/** The field of a map; nil if absent. */
export function fieldOf(value: unknown, name: string): unknown {
  if (isNil(value)) return undefined;
  if (!isDict(value)) throw new RenderFault(`can't evaluate field ${name} in ${kindOf(value)}`);
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

export function kindOf(value: unknown): string {
  if (isNil(value)) return "nil";
  if (Array.isArray(value)) return "slice";
  if (isDict(value)) return "map";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return Number.isInteger(Number(value)) ? "int" : "float64";
}

/** A value as `{{ . }}` and `%v` print it. */
export function printed(value: unknown, nil = "<no value>"): string {
  if (isNil(value)) return nil;
  if (Array.isArray(value)) return `[${value.map((each) => printed(each, "<nil>")).join(" ")}]`;
  if (!isDict(value)) return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${printed(value[key], "<nil>")}`).join(" ")}]`;
}

/**
 * Converts a value to a number for arithmetic: strings and booleans are converted, others are 0.
 */
export function numberOf(value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (isNil(value) || typeof value === "object") return 0;
  const number = Number(value);
  return Number.isFinite(number) ? number : 0;
}

export function intOf(value: unknown): number {
  return Math.trunc(numberOf(value));
}

/** Maximum length of a string and of a list that a template creates. */
export const maxTextLength = 1_000_000;
export const maxListLength = 10_000;

export function textOf(value: unknown): string {
  return isNil(value) ? "" : printed(value);
}
