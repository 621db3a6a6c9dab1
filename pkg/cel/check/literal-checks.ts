/** Texts in an expression that can never be right: patterns, durations and timestamps. */
import type { Expression } from "../syntax/ast.ts";
import type { Checked } from "./checker.ts";
import { compilePattern } from "../library/kubernetes/patterns.ts";
import { type CompileIssue, Issues, type Source } from "../syntax/source.ts";
import { parseDurationText, parseTimestampText } from "../value/time.ts";
import { CelFault } from "../value/values.ts";

const rules: ReadonlyMap<string, (text: string) => unknown> = new Map<
  string,
  (text: string) => unknown
>([
  ["duration", parseDurationText],
  ["timestamp", parseTimestampText],
  ["matches", compilePattern],
]);

/** Issues with literal arguments that the function would refuse. */
export function checkLiterals(checked: Checked, source: Source): CompileIssue[] {
  const issues = new Issues(source);
  for (const reference of checked.references.values()) {
    if (reference.kind !== "call") continue;
    const rule = rules.get(reference.name);
    const text = stringLiteral(reference.arguments.at(-1));
    if (rule === undefined || text === undefined) continue;
    if (!accepts(rule, text.value)) {
      issues.add(text.at, `invalid ${reference.name} argument`);
    }
  }
  return issues.found;
}

function stringLiteral(node: Expression | undefined): { at: number; value: string } | undefined {
  if (node?.kind !== "literal" || node.literal.type !== "string") return undefined;
  return { at: node.at, value: node.literal.value };
}

function accepts(rule: (text: string) => unknown, text: string): boolean {
  try {
    rule(text);
    return true;
  } catch (error) {
    if (error instanceof CelFault) return false;
    throw error;
  }
}
