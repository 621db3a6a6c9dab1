/** Evaluation of CEL validation rules: variables, cost budget and errors. */
import { isJsonObject, type JsonObject } from "#base";
import { adapt, costLimits, OptionalValue, type Outcome } from "#cel";
import { goQuote, problemText } from "#meta";
import { type FieldProblem, Path, type Problems, type ProblemType } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { Correlated } from "../check/correlated.ts";
import { MOST_TOLD } from "../schema/limits.ts";
import { keyText } from "../check/list-types.ts";
import { type RuleProgram, rulePrograms } from "./rule-programs.ts";

/**
 * Evaluates the rules of a schema and of all below it that a value reaches, until one costs too
 * much. Rules that do not hold for a value which is what it was are warnings.
 *
 * @returns the cost units that are left; negative when they have run out
 */
export function checkRules(
  value: unknown,
  schema: CompiledSchema,
  options: {
    readonly path: Path;
    readonly isRoot: boolean;
    /** What the value was before an update. */
    readonly old?: unknown;
    readonly problems: Problems;
    /** Absent: what did not change is not forgiven. */
    readonly warnings?: string[];
    /** Cost units; absent: as many as an object may spend. */
    readonly budget?: number;
  },
): number {
  const { path, isRoot, old, problems, warnings, budget = costLimits.object } = options;
  const walk = new RuleWalk(problems, warnings ?? [], budget);
  const isForgiving = old !== undefined && warnings !== undefined;
  const node = isForgiving ? new Correlated(value, old, schema) : undefined;
  walk.check({ value, schema, path, isRoot, old, node, ancestor: undefined });
  return walk.left;
}

/** A value on the way, and what is known of its past. */
interface Visit {
  readonly value: unknown;
  readonly schema: CompiledSchema;
  readonly path: Path;
  readonly isRoot: boolean;
  /** For `oldSelf`. */
  readonly old: unknown;
  /** For forgiveness; absent where values are not told apart. */
  readonly node: Correlated | undefined;
  /** The nearest value around this one that is told apart. */
  readonly ancestor: Correlated | undefined;
}

class RuleWalk {
  /** False once rules have become too costly: none is evaluated any more. */
  private isOn = true;

  constructor(
    private readonly problems: Problems,
    private readonly warnings: string[],
    private budget: number,
  ) {}

  get left(): number {
    return this.isOn ? this.budget : -1;
  }

  check(visit: Visit): void {
    const { value, schema } = visit;
    if (value === null || value === undefined) return;
    if (schema.rules.length > 0) this.evaluateAll(visit);
    if (!this.isOn || typeof value !== "object") return;
    if (Array.isArray(value)) this.checkItems(value, visit);
    else this.checkFields(value as JsonObject, visit);
  }

  private checkItems(list: readonly unknown[], visit: Visit): void {
    const { items } = visit.schema;
    if (items?.hasRules !== true) return;
    const before = keptItems(visit.old, visit.schema);
    for (let index = 0; index < list.length && this.isOn; index++) {
      const item = list[index];
      this.check({
        value: item,
        schema: items,
        path: visit.path.index(index),
        isRoot: items.isEmbedded,
        old: before?.(item),
        node: visit.node?.item(index),
        ancestor: visit.node ?? visit.ancestor,
      });
    }
  }

  private checkFields(object: JsonObject, visit: Visit): void {
    const { schema, path, node, ancestor, old } = visit;
    for (const name of Object.keys(object)) {
      if (!this.isOn) return;
      const property = schema.property(name);
      const field = property ?? schema.values;
      if (field?.hasRules !== true) continue;
      this.check({
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

  private evaluateAll(visit: Visit): void {
    const { schema, isRoot } = visit;
    const { type, rules } = rulePrograms(schema, isRoot);
    if (type === undefined) {
      const fault = "failed to convert to declType for CEL validation rules";
      return this.tell(visit, `rule compiler initialization error: ${fault}`);
    }
    const old = visit.old ?? undefined;
    const oldSelf = old === undefined ? undefined : adapt(old, type);
    const optional = oldSelf === undefined ? OptionalValue.none : new OptionalValue(oldSelf);
    for (const rule of rules) {
      if (this.problems.list.length >= MOST_TOLD) this.isOn = false;
      if (!this.isOn) return;
      if (this.budget <= 0) return this.stop(visit, OUT_OF_BUDGET);
      const isOptional = rule.source.optionalOldSelf === true;
      if (rule.fault !== undefined) this.tell(visit, `rule compile error: ${rule.fault}`);
      if (rule.usesOld && old === undefined && !isOptional) continue;
      this.evaluate(rule, { self: visit.value, oldSelf: isOptional ? optional : oldSelf }, visit);
    }
  }

  private evaluate(rule: RuleProgram, bindings: JsonObject, visit: Visit): void {
    if (rule.program === undefined) return;
    const outcome = rule.program.evaluate(bindings, costLimits.call);
    if (outcome.cost > this.budget) return this.stop(visit, OUT_OF_BUDGET);
    this.budget -= outcome.cost;
    if (outcome.error !== undefined) return this.tellError(outcome, rule, visit);
    if (outcome.value === true) return;
    const detail = this.messageOf(rule, bindings, visit);
    if (detail === undefined) return;
    this.tellFailure(visit, rule, {
      ...(shows(rule.source.reason) ? { value: typeName(visit.schema) } : {}),
      type: (rule.source.reason as ProblemType | undefined) ?? "FieldValueInvalid",
      detail: rule.source.reason === "FieldValueDuplicate" ? "" : detail,
    });
  }

  private tellError(
    { error, exceeded }: Extract<Outcome, { readonly error: string }>,
    { source }: RuleProgram,
    visit: Visit,
  ): void {
    const name = nameOf(source);
    if (exceeded) {
      const why = "no further validation rules will be run due to call cost exceeds limit";
      return this.stop(visit, `'${error}': ${why} for rule: ${name}`);
    }
    if (error.startsWith("no such overload")) {
      const why = "call arguments did not match a supported operator, function or macro signature";
      return this.tell(visit, `'${error}': ${why} for rule: ${name}`);
    }
    this.tell(visit, `${error} evaluating rule: ${name}`);
  }

  /** Undefined when there is nothing more to say, since the message was too costly. */
  private messageOf(rule: RuleProgram, bindings: JsonObject, visit: Visit): string | undefined {
    const { source } = rule;
    const plain = source.message ? source.message.trim() : `failed rule: ${source.rule.trim()}`;
    if (rule.message === undefined) return plain;
    const outcome = rule.message.evaluate(bindings, costLimits.call);
    const isTooMuch = outcome.cost > this.budget;
    if (isTooMuch || (outcome.error !== undefined && outcome.exceeded)) {
      const why = isTooMuch
        ? "messageExpression evaluation failed due to running out of cost budget, " +
          "no further validation rules will be run"
        : "no further validation rules will be run due to call cost exceeds limit for " +
          `messageExpression: ${goQuote(source.messageExpression ?? "")}`;
      this.isOn = false;
      const value = typeName(visit.schema);
      this.tellFailure(visit, rule, { type: "FieldValueInvalid", value, detail: why });
      return undefined;
    }
    this.budget -= outcome.cost;
    if (typeof outcome.value !== "string") return plain;
    const message = outcome.value.trim();
    const isFit = message !== "" && !message.includes("\n");
    return isFit && Buffer.byteLength(message) <= LONGEST_MESSAGE ? message : plain;
  }

  private tellFailure(
    { path, node, ancestor }: Visit,
    { fieldPath, usesOld }: RuleProgram,
    problem: Omit<FieldProblem, "field">,
  ): void {
    const at = fieldPath === "" ? path : path.child(fieldPath);
    const told = { ...problem, field: at.toString() };
    const isForgiven = !usesOld && (node ?? ancestor)?.isUnchanged === true;
    if (!isForgiven) {
      this.problems.add(told);
    } else if (this.warnings.length < MOST_TOLD) {
      const field = told.field === "" ? "<nil>" : told.field;
      this.warnings.push(`${field}: ${problemText(told)}`);
    }
  }

  private stop(visit: Visit, detail: string): void {
    this.isOn = false;
    this.tell(visit, detail);
  }

  private tell({ path, schema }: Visit, detail: string): void {
    this.problems.invalid(path, typeName(schema), detail);
  }
}

/** Maximum length of a rule's message, in bytes. */
const LONGEST_MESSAGE = 5 * 1024;

const OUT_OF_BUDGET =
  "validation failed due to running out of cost budget, no further validation rules will be run";

function nameOf({ message, rule }: RuleProgram["source"]): string {
  return (message || rule).trim();
}

/** Rules show no values, only what they are. */
function typeName(schema: CompiledSchema): string {
  return schema.source.type ?? "";
}

function shows(reason: string | undefined): boolean {
  return reason !== "FieldValueForbidden" && reason !== "FieldValueRequired";
}

/** Finds items of lists of type map as they were; of other lists, none is known again. */
function keptItems(
  old: unknown,
  { listType, listKeys }: CompiledSchema,
): ((item: unknown) => unknown) | undefined {
  if (!Array.isArray(old) || listType !== "map") return undefined;
  const key = (item: unknown) => (isJsonObject(item) ? keyText(item, listKeys) : undefined);
  const found = new Map<unknown, unknown>(old.map((item) => [key(item), item]));
  return (item) => (isJsonObject(item) ? found.get(key(item)) : undefined);
}
