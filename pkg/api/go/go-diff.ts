import { printJson, sortedKeys, unifiedDiff } from "#base";
import { escapedForHtml, type Type } from "#schema";
import { goValue } from "./go-shape.ts";

/**
 * The unified diff of two values of a type, as Kubernetes shows it in messages about immutable
 * fields: of their internal Go values in JSON, indented by one space.
 */
export function goDiff(type: Type, before: unknown, after: unknown): string {
  return unifiedDiff(linesOf(goValue(type, before)), linesOf(goValue(type, after)));
}

function linesOf(value: unknown): string[] {
  const lines: string[] = [];
  addLines(value, { lead: "", indent: "", end: "" }, lines);
  return lines;
}

interface Surroundings {
  /** Text before the value on its line: a key. */
  readonly lead: string;
  readonly indent: string;
  /** Text after the value: a comma, unless it is the last. */
  readonly end: string;
}

function addLines(value: unknown, { lead, indent, end }: Surroundings, lines: string[]): void {
  const isList = Array.isArray(value);
  const members = membersOf(value);
  if (members.length === 0) {
    lines.push(escapedForHtml(`${indent}${lead}${printJson(value)}${end}`));
    return;
  }
  lines.push(escapedForHtml(`${indent}${lead}${isList ? "[" : "{"}`));
  for (const [index, [key, member]] of members.entries()) {
    const around = {
      lead: isList ? "" : `${JSON.stringify(key)}: `,
      indent: `${indent} `,
      end: index === members.length - 1 ? "" : ",",
    };
    addLines(member, around, lines);
  }
  lines.push(`${indent}${isList ? "]" : "}"}${end}`);
}

/**
 * Members sorted by key: JavaScript orders integer keys first and by value, Go sorts all keys as
 * text.
 */
function membersOf(value: unknown): (readonly [key: string, member: unknown])[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.map((member) => ["", member]);
  const object = value as Readonly<Record<string, unknown>>;
  const [first = ""] = Object.keys(object);
  const keys = /^\d/.test(first) ? sortedKeys(object) : Object.keys(object);
  return keys.flatMap((key) => (object[key] === undefined ? [] : [[key, object[key]] as const]));
}
