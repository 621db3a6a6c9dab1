/** Compilation and evaluation of expressions. */
import type { Slices } from "#base";
import { type Checked, check } from "./check/checker.ts";
import { estimateCost } from "./cost/cost-estimate.ts";
import type { Range } from "./cost/cost-range.ts";
import type { Environment } from "./environment.ts";
import { BudgetExceeded, Frame } from "./runtime/frame.ts";
import { adapt } from "./value/json-values.ts";
import { validate } from "./check/validators.ts";
import { Progress } from "./runtime/progress.ts";
import { parse } from "./syntax/parser.ts";
import { plan } from "./runtime/planner.ts";
import { type CompileIssue, renderIssues } from "./syntax/source.ts";
import { type CelType, dyn } from "./check/types.ts";
import { CelFault, type Value } from "./value/values.ts";

export type Compilation =
  | {
      readonly program: Program;
      readonly error?: undefined;
      readonly reason?: undefined;
      readonly isInstantiation?: undefined;
    }
  | {
      readonly program?: undefined;
      /** The rendered issues: `ERROR: <input>:1:6: ...` with the line and a caret. */
      readonly error: string;
      /** The error with its stage: `compilation failed: ...`, `program instantiation failed: ...`. */
      readonly reason: string;
      /** Whether it type-checks, but a constant subexpression fails. */
      readonly isInstantiation: boolean;
    };

export type Outcome =
  | { readonly value: Value; readonly cost: number; readonly error?: undefined }
  | {
      readonly value?: undefined;
      /** Cost units spent until the error. */
      readonly cost: number;
      readonly error: string;
      /** Whether the cost budget was exceeded. */
      readonly exceeded: boolean;
    };

/**
 * Compiles an expression. Programs are immutable and can be cached by text and environment.
 */
export function compile(text: string, environment: Environment): Compilation {
  const { source, expression, issues } = parse(text, { bindings: environment.bindings });
  if (expression === undefined) return failure(issues);
  const checked = check(expression, source, environment);
  if (checked.issues.length > 0) return failure(checked.issues);
  const invalid = environment.validates ? validate(checked, source) : [];
  if (invalid.length > 0) return failure(invalid);
  try {
    return { program: new Program(checked, environment) };
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    const { message } = error;
    const reason = `program instantiation failed: ${message}`;
    return { error: message, reason, isInstantiation: true };
  }

  function failure(found: readonly CompileIssue[]): Compilation {
    const error = renderIssues(source, found);
    return { error, reason: `compilation failed: ${error}`, isInstantiation: false };
  }
}

/** Variables and those of macros. */
type Slots = (Value | CelFault | undefined)[];

export class Program {
  /** Type of the result. */
  readonly type: CelType;
  /** Variables that the expression uses. */
  readonly variables: readonly string[];
  /**
   * Estimated cost of an evaluation, from the declared maximum sizes of the types; `max` is Infinity
   * if a size is unbounded.
   */
  readonly estimatedCost: Range;
  private readonly planned: ReturnType<typeof plan>;
  private readonly variableTypes: readonly CelType[];

  constructor(checked: Checked, environment: Environment) {
    this.type = checked.types.get(checked.expression) ?? dyn;
    this.estimatedCost = estimateCost(checked, environment.variable("self"));
    this.planned = plan(checked);
    this.variables = this.planned.variables;
    this.variableTypes = this.variables.map((name) => environment.variable(name) ?? dyn);
  }

  /**
   * Evaluates the expression; bindings are JSON or values, `budget` is in cost units. Errors of the
   * expression are part of the outcome, not thrown.
   */
  evaluate(bindings: Readonly<Record<string, unknown>>, budget = Infinity): Outcome {
    const slots = this.emptySlots();
    return this.run(slots, bindings, new Frame(slots, budget));
  }

  /**
   * As `evaluate`, in slices between the elements of macros such as `all` that are not within another
   * one. The bindings must not change meanwhile.
   */
  *evaluateInSlices(bindings: Readonly<Record<string, unknown>>, budget: number): Slices<Outcome> {
    const progress = new Progress();
    const slots = this.emptySlots();
    for (;;) {
      const frame = new Frame(slots, budget, progress);
      const outcome = progress.run(() => this.run(slots, bindings, frame));
      if (outcome !== undefined) return outcome;
      yield;
    }
  }

  private emptySlots(): Slots {
    return new Array(this.planned.slotCount).fill(undefined);
  }

  private run(slots: Slots, bindings: Readonly<Record<string, unknown>>, frame: Frame): Outcome {
    const { step, variables } = this.planned;
    try {
      for (let at = 0; at < variables.length; at++) {
        if (slots[at] !== undefined) continue;
        const raw = bindings[variables[at] ?? ""];
        if (raw !== undefined) slots[at] = adapt(raw, this.variableTypes[at] ?? dyn);
      }
      return { value: step(frame), cost: frame.spent };
    } catch (error) {
      if (error instanceof CelFault) {
        return { error: error.message, cost: frame.spent, exceeded: false };
      }
      // A stack overflow from deeply nested data, or a string beyond the maximum length.
      if (error instanceof RangeError) {
        return { error: "evaluation exceeds resources", cost: frame.spent, exceeded: false };
      }
      if (error instanceof BudgetExceeded) {
        return { error: error.message, cost: frame.spent, exceeded: true };
      }
      throw error;
    }
  }
}
