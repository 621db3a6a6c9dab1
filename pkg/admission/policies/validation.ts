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

/** Compiled when the first request needs it, and again only when the policy has changed. */
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

/** A validation that did not hold, or could not be told. */
export interface Failure {
  /** Index of the validation in `spec.validations`. */
  readonly index: number;
  readonly message: string;
  /** A Status' reason. */
  readonly reason: string;
  /** The expression failed rather than the object: what that means is the policy's to say. */
  readonly isError: boolean;
}

const longestMessage = 5 * 1024;

/** All validations in order; when the budget is spent, that is the only failure. */
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
    const made = await madeMessage(validation, evaluation);
    const told = made || message || `failed expression: ${condition.text.trim()}`;
    return { index, message: told, reason, isError: false };
  } catch (fault) {
    if (!(fault instanceof CostBudgetError)) throw fault;
    return errorAt(index, `failed messageExpression: ${fault.message}`);
  }
}

/** "" for what is no good message. */
async function madeMessage(
  { messageExpression }: Validation,
  evaluation: Evaluation,
): Promise<string> {
  if (messageExpression === undefined) return "";
  const { value } = await evaluation.run(messageExpression);
  const text = typeof value === "string" ? value.trim() : "";
  return text.includes("\n") || Buffer.byteLength(text) > longestMessage ? "" : text;
}

/** Values to note by key, and what went wrong on the way. */
export interface Noted {
  readonly values: readonly (readonly [string, string])[];
  readonly errors: readonly string[];
}

export async function notedBy({ annotations }: Compiled, evaluation: Evaluation): Promise<Noted> {
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
