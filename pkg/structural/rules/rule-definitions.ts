/** Validation of CEL rules in CustomResourceDefinitions: compilation and estimated cost. */
import { costLimits, maxCountInRequest, minSize, type StructuralSchema } from "#cel";
import type { Path, Problems } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import type { JsonSchema, ValidationRule } from "../schema/json-schema.ts";
import { type RuleProgram, rulePrograms } from "./rule-programs.ts";

/** Sum of the estimated costs of all rules of one schema. */
export class RuleCosts {
  private total = 0;
  private mostExpensive: readonly { readonly path: Path; readonly cost: number }[] = [];

  /** Adds the cost of a rule or message. */
  observe(path: Path, cost: number): void {
    this.total += cost;
    if (cost < costLimits.estimatedSchema / 100) return;
    const all = [...this.mostExpensive, { path, cost }];
    this.mostExpensive = all.sort((a, b) => descending(a.cost, b.cost)).slice(0, maxReported);
  }

  /** Reports an error if the total exceeds the limit; `path` is that of the schema. */
  check(path: Path, problems: Problems): void {
    if (this.total <= costLimits.estimatedSchema) return;
    for (const each of this.mostExpensive) {
      const detail =
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
      problems.forbidden(each.path, detail);
    }
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    problems.forbidden(path, budgetMessage(what, this.total / costLimits.estimatedSchema));
  }
}

const maxReported = 4;

/** Compares without subtraction, as Infinity - Infinity is NaN. */
function descending(a: number, b: number): number {
  return a === b ? 0 : b > a ? 1 : -1;
}

function budgetMessage(what: string, factor: number): string {
  const times =
    factor > 100 ? "more than 100" : factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1);
  return (
    `${what} exceeds budget by factor of ${times}x (try simplifying the rule, or adding ` +
    "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
  );
}

/** Context of a schema with rules. */
export interface RuleContext {
  readonly path: Path;
  readonly isRoot: boolean;
  /** Maximum number of values in one object; undefined = limited by the request size only. */
  readonly cardinality: number | undefined;
  /**
   * Path of the outermost list whose items cannot be correlated with old ones; undefined = none.
   */
  readonly uncorrelatable: Path | undefined;
  /** Whether the cost of each single rule is limited, too. */
  readonly limitsEachRule: boolean;
  readonly costs: RuleCosts;
  readonly problems: Problems;
}

/** Maximum number of child values, given the maximum number of values of the schema. */
export function cardinalityBelow(
  schema: JsonSchema,
  cardinality: number | undefined,
): number | undefined {
  const children = maxChildren(schema);
  return cardinality === undefined || children === undefined ? undefined : cardinality * children;
}

function maxChildren(schema: JsonSchema): number | undefined {
  const { type, additionalProperties, maxProperties, maxItems } = schema;
  const bound =
    type === "array"
      ? maxItems
      : type === "object" && additionalProperties !== undefined
        ? maxProperties
        : 1;
  return bound === undefined ? undefined : Math.max(0, Number(bound));
}

/** Checks the rules of a schema, without those of subschemas. */
export function checkRuleDefinitions(schema: CompiledSchema, context: RuleContext): void {
  const { type, rules } = rulePrograms(schema, context.isRoot);
  const path = context.path.child("x-kubernetes-validations");
  if (type === undefined) {
    const detail =
      "internal error: failed to construct type information for x-kubernetes-validations rules: " +
      "unable to convert structural schema to CEL declarations";
    context.problems.add({ type: "InternalError", field: path.toString(), detail });
    return;
  }
  const { source } = schema;
  const size = minSize(source as StructuralSchema, context.isRoot) ?? 0;
  const cardinality = context.cardinality ?? maxCountInRequest(size);
  rules.forEach((rule, index) => checkRule(rule, path.index(index), { ...context, cardinality }));
}

interface BoundedRuleContext extends RuleContext {
  readonly cardinality: number;
}

function checkRule(rule: RuleProgram, path: Path, context: BoundedRuleContext): void {
  const { problems, costs, limitsEachRule, uncorrelatable } = context;
  const { source } = rule;
  const rulePath = path.child("rule");
  const costOfOne = rule.program?.estimatedCost.max ?? 0;
  const cost = costOfOne === 0 ? 0 : costOfOne * context.cardinality;
  if (limitsEachRule) checkCost("estimated rule cost", cost, { path: rulePath, problems });
  costs.observe(rulePath, cost);
  if (rule.fault !== undefined) problems.invalid(rulePath, goRule(source), rule.fault);
  checkMessage(rule, path.child("messageExpression"), context);
  if (rule.usesOld && uncorrelatable !== undefined) {
    const detail =
      "oldSelf cannot be used on the uncorrelatable portion of the schema within " +
      uncorrelatable.toString();
    problems.invalid(rulePath, source.rule, detail);
  } else if (!rule.usesOld && source.optionalOldSelf !== undefined) {
    const detail = "may not be set if oldSelf is not used in rule";
    problems.invalid(path.child("optionalOldSelf"), source.optionalOldSelf, detail);
  }
}

function checkMessage(rule: RuleProgram, path: Path, context: BoundedRuleContext): void {
  const { problems, costs, limitsEachRule } = context;
  if (rule.messageFault !== undefined) {
    problems.invalid(path, goRule(rule.source), rule.messageFault);
  }
  if (rule.message === undefined) return;
  const cost = rule.message.estimatedCost.max;
  if (limitsEachRule) checkCost("estimated messageExpression cost", cost, { path, problems });
  costs.observe(path, cost);
}

function checkCost(
  what: string,
  cost: number,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (cost <= costLimits.estimatedRule) return;
  problems.forbidden(path, budgetMessage(what, cost / costLimits.estimatedRule));
}

/** A rule in error messages: Kubernetes formats the Go struct. */
function goRule(rule: ValidationRule): unknown {
  return {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
