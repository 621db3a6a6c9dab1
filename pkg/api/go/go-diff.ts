import { deepEqual, keysInGoOrder, printJson, sortedKeys, unifiedDiff } from "#base";
import { countValues, escapedForHtml, type Type } from "#schema";
import { goValue } from "./go-shape.ts";

/** Maximum number of keys and list elements of a value in a diff, which prints all declared fields. */
const maxDiffValues = 1_500;

/**
 * The unified diff of two values of a type, as Kubernetes shows it in messages about immutable
 * fields: of their internal Go values in JSON, indented by one space. Of large values only the changed
 * fields are named, where kube-apiserver responds with megabytes: `changed: containers, hostname`.
 */
export function goDiff(type: Type, before: object, after: object): string {
  const isLarge = [before, after].some(
    (value) => countValues(value, maxDiffValues) > maxDiffValues,
  );
  if (isLarge) return `changed: ${changedFields(before, after).join(", ")}`;
  return unifiedDiff(linesOf(goValue(type, before)), linesOf(goValue(type, after)));
}

function changedFields(before: object, after: object): readonly string[] {
  const fields: Readonly<Record<string, unknown>> = { ...after };
  const oldFields: Readonly<Record<string, unknown>> = { ...before };
  return sortedKeys({ ...oldFields, ...fields }).filter(
    (field) => !deepEqual(fields[field], oldFields[field]),
  );
}

function linesOf(value: unknown): string[] {
  const lines: string[] = [];
  addLines(value, { lead: "", indent: "", end: "" }, lines);
  return lines;
}

interface LineContext {
  /** Text before the value on its line: a key. */
  readonly lead: string;
  readonly indent: string;
  /** Text after the value: a comma, unless it is the last. */
  readonly end: string;
}

function addLines(value: unknown, { lead, indent, end }: LineContext, lines: string[]): void {
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

function membersOf(value: unknown): (readonly [key: string, member: unknown])[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.map((member) => ["", member]);
  const object = value as Readonly<Record<string, unknown>>;
  return keysInGoOrder(object).flatMap((key) =>
    object[key] === undefined ? [] : [[key, object[key]] as const],
  );
}
