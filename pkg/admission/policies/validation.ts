import { memoize } from "#base";
import {
  CostBudgetError,
  type Evaluation,
  type Expression,
  expressionOf,
} from "../dynamic/index.ts";
import { type CompiledPolicy, compiledPolicy, type Policy } from "./policy.ts";

export interface ValidatingPolicy extends Policy {
  readonly spec: Policy["spec"] & {
    readonly validations?: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
      readonly reason?: string;
    }[];
    readonly auditAnnotations?: readonly {
      readonly key: string;
      readonly valueExpression: string;
    }[];
  };
}

interface Validation {
  readonly condition: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

interface Annotation {
  readonly key: string;
  readonly value: Expression;
}

interface Compiled extends CompiledPolicy {
  readonly validations: readonly Validation[];
  readonly annotations: readonly Annotation[];
}

/** Compiled on first use; cached until the policy changes. */
export const compiledValidation = memoize((policy: ValidatingPolicy): Compiled => {
  const common = compiledPolicy(policy);
  const { scope } = common;
  const { validations = [], auditAnnotations = [] } = policy.spec;
  return {
    ...common,
    validations: validations.map(({ expression, message = "", messageExpression, reason }) => ({
      condition: expressionOf(expression, "condition", scope),
      message: message.trim(),
      messageExpression:
        messageExpression === undefined || messageExpression === ""
          ? undefined
          : expressionOf(messageExpression, "message", { ...scope, authorizer: false }),
      reason: reason ?? "Invalid",
    })),
    annotations: auditAnnotations.map(({ key, valueExpression }) => ({
      key,
      value: expressionOf(valueExpression, "annotation", scope),
    })),
  };
});

/** A failed validation, or an error of its evaluation. */
export interface Failure {
  /** Index of the validation in `spec.validations`. */
  readonly index: number;
  readonly message: string;
  /** Reason of the Status. */
  readonly reason: string;
  /** Whether the expression itself failed: then failurePolicy applies. */
  readonly isError: boolean;
}

const maxMessageLength = 5 * 1024;

/** Evaluates all validations in order. An exceeded cost budget is returned as the only failure. */
export async function failuresOf(
  { validations }: Compiled,
  evaluation: Evaluation,
): Promise<readonly Failure[]> {
  const failed: { readonly validation: Validation; readonly index: number }[] = [];
  const failures: Failure[] = [];
  try {
    for (const [index, validation] of validations.entries()) {
      const { value, error } = await evaluation.run(validation.condition);
      if (error !== undefined) failures.push(errorAt(index, error));
      else if (value !== true) failed.push({ validation, index });
    }
  } catch (fault) {
    if (fault instanceof CostBudgetError) return [errorAt(0, fault.message)];
    throw fault;
  }
  for (const { validation, index } of failed) {
    failures.push(await failureOf(validation, evaluation, index));
  }
  return failures.sort((left, right) => left.index - right.index);
}

function errorAt(index: number, message: string): Failure {
  return { index, message, reason: "Invalid", isError: true };
}

async function failureOf(
  validation: Validation,
  evaluation: Evaluation,
  index: number,
): Promise<Failure> {
  const { message, reason, condition } = validation;
  try {
    const made = await evaluateMessage(validation, evaluation);
    const told = made || message || `failed expression: ${condition.text.trim()}`;
    return { index, message: told, reason, isError: false };
  } catch (fault) {
    if (!(fault instanceof CostBudgetError)) throw fault;
    return errorAt(index, `failed messageExpression: ${fault.message}`);
  }
}

/** Evaluates messageExpression; "" = invalid message. */
async function evaluateMessage(
  { messageExpression }: Validation,
  evaluation: Evaluation,
): Promise<string> {
  if (messageExpression === undefined) return "";
  const { value } = await evaluation.run(messageExpression);
  const text = typeof value === "string" ? value.trim() : "";
  return text.includes("\n") || Buffer.byteLength(text) > maxMessageLength ? "" : text;
}

/** Audit annotations by key, and evaluation errors. */
export interface AuditAnnotations {
  readonly values: readonly (readonly [string, string])[];
  readonly errors: readonly string[];
}

export async function notedBy(
  { annotations }: Compiled,
  evaluation: Evaluation,
): Promise<AuditAnnotations> {
  const values: [string, string][] = [];
  const errors: string[] = [];
  for (const { key, value: expression } of annotations) {
    try {
      const { value, error } = await evaluation.run(expression);
      if (error !== undefined) errors.push(error);
      else if (typeof value === "string" && value.trim() !== "") values.push([key, value.trim()]);
    } catch (fault) {
      if (!(fault instanceof CostBudgetError)) throw fault;
      return { values, errors: [...errors, fault.message] };
    }
  }
  return { values, errors };
}
