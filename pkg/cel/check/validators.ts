/**
 * cel-go's AST validators: literals that cannot be converted, invalid patterns, mismatched `format`
 * clauses, and list and map literals of mixed types.
 */
import { childrenOf, type CallNode, type Expression } from "../syntax/ast.ts";
import type { Checked } from "./checker.ts";
import { compilePattern } from "../library/kubernetes/patterns.ts";
import { formatClauses, mismatch, type Verb } from "../library/format-clauses.ts";
import { type CompileIssue, Issues, type Source } from "../syntax/source.ts";
import { plan } from "../runtime/planner.ts";
import { Frame } from "../runtime/frame.ts";
import { type CelType, dyn, formatType, isOptional, parameterOf, sameType } from "./types.ts";
import { CelFault } from "../value/values.ts";

/** Returns the issues in no particular order. */
export function validate(checked: Checked, source: Source): readonly CompileIssue[] {
  const validator = new Validator(checked, new Issues(source));
  validator.visit(checked.expression, false);
  return validator.issues.found;
}

class Validator {
  constructor(
    private readonly checked: Checked,
    readonly issues: Issues,
  ) {}

  /** @param isExempt within an argument of `format`, whose list may mix types */
  visit(node: Expression, isExempt: boolean): void {
    if (node.kind === "call") this.call(node);
    if (!isExempt) this.aggregate(node);
    const isFormat = isExempt || (node.kind === "call" && node.name === "format");
    for (const child of childrenOf(node)) this.visit(child, isFormat);
  }

  private type(node: Expression): CelType {
    return this.checked.types.get(node) ?? dyn;
  }

  private call(node: CallNode): void {
    const [first] = node.arguments;
    if (first?.kind === "literal") {
      const { name } = node;
      const isTime = name === "duration" || name === "timestamp";
      const isWrong = isTime
        ? !succeeds(() => this.evaluated(node))
        : name === "matches" && !isPattern(first);
      if (isWrong) this.issues.add(first.at, `invalid ${name} argument`);
    }
    if (node.name === "format" && node.target !== undefined) this.format(node, node.target);
  }

  private evaluated(node: CallNode): unknown {
    const { step, slotCount } = plan({ ...this.checked, expression: node });
    return step(new Frame(new Array(slotCount), Infinity));
  }

  /** Validates `format` of a literal string with a literal list. */
  private format(node: CallNode, target: Expression): void {
    const [list] = node.arguments;
    if (target.kind !== "literal" || target.literal.type !== "string") return;
    if (list?.kind !== "list" || node.arguments.length !== 1) return;
    const values = list.elements.map(({ value }) => value);
    let asked = 0;
    let at = node.at;
    const fault = faultOf(() =>
      formatClauses(target.literal.type === "string" ? target.literal.value : "", {
        count: () => values.length,
        clause: ({ verb }, index) => {
          asked++;
          const mismatched = this.mismatchedPart(values[index], verb);
          if (mismatched === undefined) return "";
          at = mismatched.at;
          throw mismatch(verb, this.type(mismatched).name);
        },
      }),
    );
    if (fault !== undefined) return this.issues.add(at, fault);
    if (values.length <= asked) return;
    const what = "too many arguments supplied to string.format";
    this.issues.add(node.at, `${what} (expected ${asked}, got ${values.length})`);
  }

  /** The argument, or the part of it, that the clause does not accept. */
  private mismatchedPart(node: Expression | undefined, verb: Verb): Expression | undefined {
    if (node === undefined) return undefined;
    const { kind } = this.type(node);
    if (kind !== "dyn" && !acceptedKinds[verb].includes(kind)) return node;
    if (verb !== "s") return undefined;
    const parts =
      node.kind === "list"
        ? node.elements.map(({ value }) => value)
        : node.kind === "map"
          ? node.entries.flatMap(({ key, value }) => [key, value])
          : [];
    for (const part of parts) {
      const mismatched = this.mismatchedPart(part, verb);
      if (mismatched !== undefined) return mismatched;
    }
    return undefined;
  }

  private aggregate(node: Expression): void {
    if (node.kind === "list") this.checkHomogeneous(node.elements);
    if (node.kind !== "map") return;
    const keys = node.entries.map(({ key }) => ({ value: key, optional: false }));
    this.checkHomogeneous(keys, true);
    this.checkHomogeneous(node.entries, true);
  }

  /** Reports elements whose type differs from the first: only the first such, or all. */
  private checkHomogeneous(
    entries: readonly { readonly value: Expression; readonly optional: boolean }[],
    tellsAll = false,
  ): void {
    let expected: CelType | undefined;
    for (const { value, optional } of entries) {
      const whole = this.type(value);
      const type = optional && isOptional(whole) ? parameterOf(whole) : whole;
      expected ??= type;
      if (sameType(expected, type)) continue;
      const found = `expected type '${formatType(expected)}' but found '${formatType(type)}'`;
      this.issues.add(value.at, found);
      if (!tellsAll) return;
    }
  }
}

const integers = ["int", "uint"];
const reals = ["double", "string"];
const hexadecimal = [...integers, "string", "bytes"];

/** Kinds of types that each clause accepts. */
const acceptedKinds: Readonly<Record<Verb, readonly CelType["kind"][] | readonly string[]>> = {
  s: [
    "list",
    "map",
    ...integers,
    "double",
    "bool",
    "string",
    "timestamp",
    "bytes",
    "duration",
    "type",
    "null_type",
  ],
  d: integers,
  f: reals,
  e: reals,
  b: [...integers, "bool"],
  o: integers,
  x: hexadecimal,
  X: hexadecimal,
};

function isPattern(node: Expression): boolean {
  if (node.kind !== "literal" || node.literal.type !== "string") return true;
  const { value } = node.literal;
  return succeeds(() => compilePattern(value));
}

function succeeds(action: () => unknown): boolean {
  return faultOf(action) === undefined;
}

function faultOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof CelFault) return error.message;
    throw error;
  }
}
