import { compileExpression, type ExpressionPosition, type ExpressionScope } from "#api";
import { CostBudgetError, type Evaluation, type Expression } from "./evaluation.ts";

/** Compiles an expression of a configuration; evaluation of an invalid one returns its error. */
export function expressionOf(
  source: string,
  place: ExpressionPosition,
  scope: ExpressionScope,
): Expression {
  const text = source.trim();
  const { program, error } = compileExpression(text, place, scope);
  return { text: source, program, fault: error };
}

/** Result of match conditions: whether all are true, or the evaluation errors. */
type Met =
  | { readonly met: boolean; readonly error?: undefined }
  | { readonly met?: undefined; readonly error: string };

/** Evaluates match conditions; a false one takes precedence over errors of others. */
export async function meetsConditions(
  conditions: readonly Expression[],
  evaluation: Evaluation,
): Promise<Met> {
  const errors = new Set<string>();
  for (const condition of conditions) {
    try {
      const { value, error } = await evaluation.run(condition);
      if (error !== undefined) errors.add(error);
      else if (value === false) return { met: false };
    } catch (fault) {
      if (!(fault instanceof CostBudgetError)) throw fault;
      return { error: fault.message };
    }
  }
  if (errors.size === 0) return { met: true };
  const all = [...errors].join(", ");
  return { error: errors.size === 1 ? all : `[${all}]` };
}
