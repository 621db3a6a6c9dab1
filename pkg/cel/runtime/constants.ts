/**
 * Constant folding: Kubernetes evaluates constant subexpressions at program instantiation, which fails
 * if they fail, and they cost nothing at run time.
 */
import { type CallNode, childrenOf, type Expression } from "../syntax/ast.ts";
import type { Checked } from "../check/checker.ts";
import { literalValue } from "../check/literal-types.ts";
import { compilePattern } from "../library/kubernetes/patterns.ts";
import { CelFault, HashMap, ArrayList, TypeValue, type Value } from "../value/values.ts";

/** Values by their nodes. */
export type Constants = ReadonlyMap<Expression, Value>;

const conversions: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint",
]);

const patterns: ReadonlySet<string> = new Set(["matches", "find", "findAll"]);

/** @param call evaluates a call of constants. @throws CelFault for an invalid conversion or pattern */
export function foldConstants(
  checked: Checked,
  call: (node: CallNode, constants: Constants) => Value,
): Constants {
  const constants = new Map<Expression, Value>();
  const visit = (node: Expression): void => {
    const reference = checked.references.get(node);
    if (reference?.kind === "type") {
      constants.set(node, new TypeValue(reference.type.name));
      return;
    }
    for (const child of childrenOf(node)) visit(child);
    if (node.kind === "literal") constants.set(node, literalValue(node.literal));
    else if (node.kind === "call" && reference?.kind === "call") {
      const [first, second] = reference.arguments;
      const isConversion = conversions.has(node.name) && reference.arguments.length === 1;
      if (isConversion && first !== undefined && constants.has(first)) {
        constants.set(node, call(node, constants));
      }
      const pattern = second === undefined ? undefined : constants.get(second);
      if (patterns.has(node.name) && typeof pattern === "string") compilePattern(pattern);
    } else if (node.kind === "list" || node.kind === "map") {
      const value = aggregate(node, constants);
      if (value !== undefined) constants.set(node, value);
    }
  };
  visit(checked.expression);
  return constants;
}

function aggregate(
  node: Extract<Expression, { kind: "list" | "map" }>,
  constants: Constants,
): Value | undefined {
  const parts = node.kind === "list" ? node.elements : node.entries;
  if (parts.some(({ optional }) => optional)) return undefined;
  if (!childrenOf(node).every((child) => constants.has(child))) return undefined;
  const valueOf = (part: Expression): Value => constants.get(part) ?? null;
  if (node.kind === "list") return new ArrayList(node.elements.map(({ value }) => valueOf(value)));
  try {
    return HashMap.of(node.entries.map(({ key, value }) => [valueOf(key), valueOf(value)]));
  } catch (error) {
    // A duplicate key fails at run time, when the map is used.
    if (error instanceof CelFault) return undefined;
    throw error;
  }
}
