/** Evaluation of CEL validation rules: variables, cost budget and errors. */
import { isJsonObject, type JsonObject, type Slices } from "#base";
import { adapt, costLimits, OptionalValue, type Outcome } from "#cel";
import { goQuote, problemText } from "#meta";
import { type FieldProblem, Path, type Problems, type ProblemType } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { Correlated } from "../check/correlated.ts";
import { maxErrors } from "../schema/limits.ts";
import { listMapKeyText } from "../check/list-types.ts";
import { type RuleProgram, rulePrograms } from "./rule-programs.ts";

/**
 * Evaluates the rules of a schema and its subschemas until the cost budget is exhausted, in slices. With
 * validation ratcheting, failures of unchanged values are warnings.
 * @returns the remaining cost units; negative if the budget was exceeded
 */
export function* checkRules(
  value: unknown,
  schema: CompiledSchema,
  options: {
    readonly path: Path;
    readonly isRoot: boolean;
    /** The value before an update. */
    readonly old?: unknown;
    readonly problems: Problems;
    /** Absent = no ratcheting. */
    readonly warnings?: string[];
    /** Cost units; absent = the limit per object. */
    readonly budget?: number;
  },
): Slices<number> {
  const { path, isRoot, old, problems, warnings, budget = costLimits.object } = options;
  const walk = new RuleWalk(problems, warnings ?? [], budget);
  const isRatcheting = old !== undefined && warnings !== undefined;
  const node = isRatcheting ? new Correlated(value, old, schema) : undefined;
  yield* walk.check({ value, schema, path, isRoot, old, node, ancestor: undefined });
  return walk.remaining;
}

/** A visited value and its correlated old value. */
interface Visit {
  readonly value: unknown;
  readonly schema: CompiledSchema;
  readonly path: Path;
  readonly isRoot: boolean;
  /** Value of `oldSelf`. */
  readonly old: unknown;
  /** Old and new value, for ratcheting; undefined if the value cannot be correlated. */
  readonly node: Correlated | undefined;
  /** The nearest ancestor that can be correlated. */
  readonly ancestor: Correlated | undefined;
}

class RuleWalk {
  /** False once the budget is exhausted: no further rules are evaluated. */
  private isRunning = true;

  constructor(
    private readonly problems: Problems,
    private readonly warnings: string[],
    private budget: number,
  ) {}

  get remaining(): number {
    return this.isRunning ? this.budget : -1;
  }

  *check(visit: Visit): Slices<void> {
    const { value, schema } = visit;
    if (value === null || value === undefined) return;
    if (schema.rules.length > 0) yield* this.evaluateAll(visit);
    if (!this.isRunning || typeof value !== "object") return;
    if (Array.isArray(value)) yield* this.checkItems(value, visit);
    else yield* this.checkFields(value as JsonObject, visit);
  }

  private *checkItems(list: readonly unknown[], visit: Visit): Slices<void> {
    const { items } = visit.schema;
    if (items?.hasRules !== true) return;
    const oldItemOf = correlatedItems(visit.old, visit.schema);
    for (let index = 0; index < list.length && this.isRunning; index++) {
      const item = list[index];
      yield* this.check({
        value: item,
        schema: items,
        path: visit.path.index(index),
        isRoot: items.isEmbedded,
        old: oldItemOf?.(item),
        node: visit.node?.item(index),
        ancestor: visit.node ?? visit.ancestor,
      });
    }
  }

  private *checkFields(object: JsonObject, visit: Visit): Slices<void> {
    const { schema, path, node, ancestor, old } = visit;
    for (const name of Object.keys(object)) {
      if (!this.isRunning) return;
      const property = schema.property(name);
      const field = property ?? schema.values;
      if (field?.hasRules !== true) continue;
      yield* this.check({
        value: object[name],
        schema: field,
        path: property === undefined ? path.key(name) : path.child(name),
        isRoot: field.isEmbedded,
        old: isJsonObject(old) && Object.hasOwn(old, name) ? old[name] : undefined,
        node: node?.field(name),
        ancestor: node ?? ancestor,
      });
    }
  }

  private *evaluateAll(visit: Visit): Slices<void> {
    const { schema, isRoot } = visit;
    const { type, rules } = rulePrograms(schema, isRoot);
    if (type === undefined) {
      const fault = "failed to convert to declType for CEL validation rules";
      return this.report(visit, `rule compiler initialization error: ${fault}`);
    }
    const old = visit.old ?? undefined;
    const oldSelf = old === undefined ? undefined : adapt(old, type);
    const optional = oldSelf === undefined ? OptionalValue.none : new OptionalValue(oldSelf);
    for (const rule of rules) {
      if (this.problems.list.length >= maxErrors) this.isRunning = false;
      if (!this.isRunning) return;
      if (this.budget <= 0) return this.stop(visit, outOfBudget);
      const isOptional = rule.source.optionalOldSelf === true;
      if (rule.fault !== undefined) this.report(visit, `rule compile error: ${rule.fault}`);
      if (rule.usesOld && old === undefined && !isOptional) continue;
      yield* this.evaluate(
        rule,
        { self: visit.value, oldSelf: isOptional ? optional : oldSelf },
        visit,
      );
      yield;
    }
  }

  private *evaluate(rule: RuleProgram, bindings: JsonObject, visit: Visit): Slices<void> {
    if (rule.program === undefined) return;
    const outcome = yield* rule.program.evaluateInSlices(bindings, costLimits.call);
    if (outcome.cost > this.budget) return this.stop(visit, outOfBudget);
    this.budget -= outcome.cost;
    if (outcome.error !== undefined) return this.reportError(outcome, rule, visit);
    if (outcome.value === true) return;
    const detail = yield* this.messageOf(rule, bindings, visit);
    if (detail === undefined) return;
    this.reportFailure(visit, rule, {
      ...(includesValue(rule.source.reason) ? { value: typeName(visit.schema) } : {}),
      type: (rule.source.reason as ProblemType | undefined) ?? "FieldValueInvalid",
      detail: rule.source.reason === "FieldValueDuplicate" ? "" : detail,
    });
  }

  private reportError(
    { error, exceeded }: Extract<Outcome, { readonly error: string }>,
    { source }: RuleProgram,
    visit: Visit,
  ): void {
    const name = nameOf(source);
    if (exceeded) {
      const reason = "no further validation rules will be run due to call cost exceeds limit";
      return this.stop(visit, `'${error}': ${reason} for rule: ${name}`);
    }
    if (error.startsWith("no such overload")) {
      const reason =
        "call arguments did not match a supported operator, function or macro signature";
      return this.report(visit, `'${error}': ${reason} for rule: ${name}`);
    }
    this.report(visit, `${error} evaluating rule: ${name}`);
  }

  /** The failure message; undefined if evaluating it exceeded the budget, which was reported. */
  private *messageOf(
    rule: RuleProgram,
    bindings: JsonObject,
    visit: Visit,
  ): Slices<string | undefined> {
    const { source } = rule;
    const plain = source.message ? source.message.trim() : `failed rule: ${source.rule.trim()}`;
    if (rule.message === undefined) return plain;
    const outcome = yield* rule.message.evaluateInSlices(bindings, costLimits.call);
    const exceedsBudget = outcome.cost > this.budget;
    if (exceedsBudget || (outcome.error !== undefined && outcome.exceeded)) {
      const detail = exceedsBudget
        ? "messageExpression evaluation failed due to running out of cost budget, " +
          "no further validation rules will be run"
        : "no further validation rules will be run due to call cost exceeds limit for " +
          `messageExpression: ${goQuote(source.messageExpression ?? "")}`;
      this.isRunning = false;
      const value = typeName(visit.schema);
      this.reportFailure(visit, rule, { type: "FieldValueInvalid", value, detail });
      return undefined;
    }
    this.budget -= outcome.cost;
    if (typeof outcome.value !== "string") return plain;
    const message = outcome.value.trim();
    const isValid = message !== "" && !message.includes("\n");
    return isValid && Buffer.byteLength(message) <= maxMessageBytes ? message : plain;
  }

  private reportFailure(
    { path, node, ancestor }: Visit,
    { fieldPath, usesOld }: RuleProgram,
    problem: Omit<FieldProblem, "field">,
  ): void {
    const at = fieldPath === "" ? path : path.child(fieldPath);
    const located = { ...problem, field: at.toString() };
    const isRatcheted = !usesOld && (node ?? ancestor)?.isUnchanged === true;
    if (!isRatcheted) {
      this.problems.add(located);
    } else if (this.warnings.length < maxErrors) {
      const field = located.field === "" ? "<nil>" : located.field;
      this.warnings.push(`${field}: ${problemText(located)}`);
    }
  }

  private stop(visit: Visit, detail: string): void {
    this.isRunning = false;
    this.report(visit, detail);
  }

  private report({ path, schema }: Visit, detail: string): void {
    this.problems.invalid(path, typeName(schema), detail);
  }
}

/** Maximum length of a rule's message, in bytes. */
const maxMessageBytes = 5 * 1024;

const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

function nameOf({ message, rule }: RuleProgram["source"]): string {
  return (message || rule).trim();
}

/** The type of the value, which errors of rules report instead of the value. */
function typeName(schema: CompiledSchema): string {
  return schema.source.type ?? "";
}

function includesValue(reason: string | undefined): boolean {
  return reason !== "FieldValueForbidden" && reason !== "FieldValueRequired";
}

/** Finds old items of lists of type map by key; undefined for other lists. */
function correlatedItems(
  old: unknown,
  { listType, listKeys }: CompiledSchema,
): ((item: unknown) => unknown) | undefined {
  if (!Array.isArray(old) || listType !== "map") return undefined;
  const key = (item: unknown) => (isJsonObject(item) ? listMapKeyText(item, listKeys) : undefined);
  const found = new Map<unknown, unknown>(old.map((item) => [key(item), item]));
  return (item) => (isJsonObject(item) ? found.get(key(item)) : undefined);
}
