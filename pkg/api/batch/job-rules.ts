/** Validation of Job specs, also in templates. */
import type { Path, Problems } from "#schema";
import { type HookContext, isDns1123Subdomain, isQualifiedName } from "#meta";
import { checkNotNegative } from "../apps/workload.ts";
import { allContainers } from "../core/pod/spec/pod-containers.ts";
import { validatePodTemplate } from "../core/pod/spec/pod-spec-rules.ts";
import { goShape } from "../go/go-shape.ts";
import { invalidEach, duplicateIndexes, unsupported } from "../strategy.ts";
import { type JobSpec, successPolicy } from "./job-structs.ts";

interface FieldContext {
  readonly path: Path;
  readonly problems: Problems;
}

const maxParallelism = 100_000;
const manyCompletions = 100_000;
/** Limits for Jobs with many completions and backoffLimitPerIndex. */
const maxParallelismOfMany = 10_000;
const maxFailedOfMany = 10_000;
const maxManagerLength = 63;

/** Validates the spec except the selector. */
export function checkJobSpec(spec: JobSpec, target: FieldContext, context: HookContext): void {
  const { path, problems } = target;
  const { parallelism, completions, activeDeadlineSeconds, backoffLimit } = spec;
  const { ttlSecondsAfterFinished, backoffLimitPerIndex, maxFailedIndexes } = spec;
  checkNotNegative({ parallelism, completions, activeDeadlineSeconds }, path, problems);
  checkNotNegative({ backoffLimit, ttlSecondsAfterFinished }, path, problems);
  checkNotNegative({ backoffLimitPerIndex, maxFailedIndexes }, path, problems);
  if (maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined) {
    const fieldPath = path.child("backoffLimitPerIndex");
    problems.required(fieldPath, "when maxFailedIndexes is specified");
  }
  checkManager(spec.managedBy, path.child("managedBy"), problems);
  checkCompletionMode(spec, target);
  if (spec.podFailurePolicy !== undefined) checkFailurePolicy(spec, target);
  if (spec.successPolicy !== undefined) checkSuccessPolicy(spec, target);
  checkReplacementPolicy(spec, target);
  validatePodTemplate(spec.template, path.child("template"), problems, context);
  checkRestartPolicy(spec, path.child("template", "spec", "restartPolicy"), problems);
}

function checkManager(manager: string | undefined, path: Path, problems: Problems): void {
  if (manager === undefined) return;
  if (manager === "") problems.required(path);
  else {
    const [domain = "", ...rest] = manager.split("/");
    const name = rest.join("/");
    if (rest.length === 0 || domain === "" || name === "") {
      const detail = 'must be a domain-prefixed path (such as "acme.io/foo")';
      problems.invalid(path, manager, detail);
    } else {
      for (const message of isDns1123Subdomain(domain)) problems.invalid(path, domain, message);
      if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(name)) {
        const form = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
        const words = `a valid path must match the regex (regex used for validation is '${form}')`;
        problems.invalid(path, name, `Invalid path (${words})`);
      }
    }
  }
  if (manager.length > maxManagerLength) problems.tooLong(path, manager, maxManagerLength);
}

function checkCompletionMode(spec: JobSpec, { path, problems }: FieldContext): void {
  const { completionMode: value, backoffLimitPerIndex, maxFailedIndexes } = spec;
  const supported = ["NonIndexed", "Indexed"];
  if (value !== undefined && !supported.includes(value)) {
    unsupported(problems, path.child("completionMode"), { value, supported });
  }
  if (value === "Indexed") checkIndexed(spec, { path, problems });
  if (value !== undefined && value !== "NonIndexed") return;
  for (const [field, limit] of Object.entries({ backoffLimitPerIndex, maxFailedIndexes })) {
    if (limit === undefined) continue;
    problems.invalid(path.child(field), limit, "requires indexed completion mode");
  }
}

function checkIndexed(spec: JobSpec, { path, problems }: FieldContext): void {
  const { completions, parallelism = 0, maxFailedIndexes: failed, backoffLimitPerIndex } = spec;
  const ofParallel = path.child("parallelism");
  const ofFailed = path.child("maxFailedIndexes");
  if (completions === undefined) {
    problems.required(path.child("completions"), "when completion mode is Indexed");
  }
  if (parallelism > maxParallelism) {
    const detail = `must be less than or equal to ${maxParallelism} when completion mode is Indexed`;
    problems.invalid(ofParallel, parallelism, detail);
  }
  if (completions !== undefined && failed !== undefined && failed > completions) {
    problems.invalid(ofFailed, failed, "must be less than or equal to completions");
  }
  if (failed !== undefined && failed > manyCompletions) {
    problems.invalid(ofFailed, failed, `must be less than or equal to ${manyCompletions}`);
  }
  if ((completions ?? 0) <= manyCompletions || backoffLimitPerIndex === undefined) return;
  const reason = `completions are above ${manyCompletions}`;
  const above = `when ${reason} and used with backoff limit per index`;
  if (failed === undefined) {
    const detail = `must be specified when completions is above ${manyCompletions}`;
    problems.required(ofFailed, detail);
  }
  if (parallelism > maxParallelismOfMany) {
    const detail = `must be less than or equal to ${maxParallelismOfMany} ${above}`;
    problems.invalid(ofParallel, parallelism, detail);
  }
  if (failed !== undefined && failed > maxFailedOfMany) {
    const detail = `must be less than or equal to ${maxFailedOfMany} ${above}`;
    problems.invalid(ofFailed, failed, detail);
  }
}

const maxRules = 20;
const maxPatterns = 20;
const maxValues = 255;
const actions = ["Count", "FailIndex", "FailJob", "Ignore"];

/** `["a" "b"]`: texts as Go's %q prints a list. */
const quotedList = (values: readonly string[]): string =>
  `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;

function checkFailurePolicy(spec: JobSpec, { path, problems }: FieldContext): void {
  const list = path.child("podFailurePolicy", "rules");
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > maxRules) problems.tooMany(list, rules.length, maxRules);
  for (const [index, rule] of rules.entries()) {
    checkFailureRule(rule, spec, { path: list.index(index), problems });
  }
}

type FailureRule = NonNullable<NonNullable<JobSpec["podFailurePolicy"]>["rules"]>[number];

function checkFailureRule(
  rule: FailureRule,
  spec: JobSpec,
  { path, problems }: FieldContext,
): void {
  const { action, onExitCodes, onPodConditions: patterns = [] } = rule;
  const fieldPath = path.child("action");
  if (action === "") problems.required(fieldPath, `valid values: ${quotedList(actions)}`);
  else if (action === "FailIndex") {
    if (spec.backoffLimitPerIndex === undefined) {
      problems.invalid(fieldPath, action, "requires the backoffLimitPerIndex to be set");
    }
  } else if (!actions.includes(action)) problems.notSupported(fieldPath, action, actions);
  if (onExitCodes !== undefined) {
    checkExitCodes(onExitCodes, spec, { path: path.child("onExitCodes"), problems });
  }
  checkPatterns(patterns, path.child("onPodConditions"), problems);
  const wrong = (detail: string) =>
    problems.add({ type: "FieldValueInvalid", field: path.toString(), detail });
  if (patterns.length > 0 && onExitCodes !== undefined) {
    wrong("specifying both OnExitCodes and OnPodConditions is not supported");
  }
  if (patterns.length === 0 && onExitCodes === undefined) {
    wrong("specifying one of OnExitCodes and OnPodConditions is required");
  }
}

type ExitCodes = NonNullable<FailureRule["onExitCodes"]>;

function checkExitCodes(codes: ExitCodes, spec: JobSpec, { path, problems }: FieldContext): void {
  const { operator, containerName: container } = codes;
  const operators = ["In", "NotIn"];
  const fieldPath = path.child("operator");
  if (operator === "") problems.required(fieldPath, `valid values: ${quotedList(operators)}`);
  else if (!operators.includes(operator)) problems.notSupported(fieldPath, operator, operators);
  if (container !== undefined) {
    const { ephemeralContainers: _, ...lasting } = spec.template.spec;
    if (!allContainers(lasting).some(({ name }) => name === container)) {
      const detail = "must be one of the container or initContainer names in the pod template";
      problems.invalid(path.child("containerName"), container, detail);
    }
  }
  checkCodes(codes.values, operator, { path: path.child("values"), problems });
}

function checkCodes(
  given: readonly number[] | null | undefined,
  operator: string,
  { path, problems }: FieldContext,
): void {
  const values = given ?? [];
  if (values.length === 0) problems.invalid(path, given ?? null, "at least one value is required");
  if (values.length > maxValues) problems.tooMany(path, values.length, maxValues);
  const repeated = duplicateIndexes(values, (value) => value);
  for (const [index, value] of values.entries()) {
    const fieldPath = path.index(index);
    if (operator === "In" && value === 0) {
      problems.invalid(fieldPath, value, "must not be 0 for the In operator");
    }
    if (repeated.has(index)) problems.duplicate(fieldPath, value);
  }
  if (values.some((value, index) => index > 0 && value < (values[index - 1] ?? 0))) {
    problems.invalid(path, values, "must be ordered");
  }
}

function checkPatterns(
  patterns: NonNullable<FailureRule["onPodConditions"]>,
  path: Path,
  problems: Problems,
): void {
  if (patterns.length > maxPatterns) problems.tooMany(path, patterns.length, maxPatterns);
  const statuses = ["False", "True", "Unknown"];
  for (const [index, { type, status }] of patterns.entries()) {
    const itemPath = path.index(index);
    invalidEach(problems, itemPath.child("type"), { value: type, messages: isQualifiedName(type) });
    if (statuses.includes(status)) continue;
    problems.notSupported(itemPath.child("status"), status, statuses);
  }
}

function checkSuccessPolicy(spec: JobSpec, { path, problems }: FieldContext): void {
  const { successPolicy: policy } = spec;
  if (policy === undefined) return;
  const successPolicyPath = path.child("successPolicy");
  if (spec.completionMode !== "Indexed") {
    problems.invalid(
      successPolicyPath,
      goShape(successPolicy, policy),
      "requires indexed completion mode",
    );
    return;
  }
  const rules = policy.rules ?? [];
  const list = successPolicyPath.child("rules");
  if (rules.length === 0) {
    const detail = "at least one rules must be specified when the successPolicy is specified";
    problems.required(list, detail);
  }
  if (rules.length > maxRules) problems.tooMany(list, rules.length, maxRules);
  for (const [index, rule] of rules.entries()) {
    checkSuccessRule(rule, spec.completions ?? 0, { path: list.index(index), problems });
  }
}

type SuccessRule = NonNullable<NonNullable<JobSpec["successPolicy"]>["rules"]>[number];

function checkSuccessRule(
  rule: SuccessRule,
  completions: number,
  { path, problems }: FieldContext,
) {
  const { succeededIndexes: indexes, succeededCount: count } = rule;
  if (indexes === undefined && count === undefined) {
    const detail = "at least one of succeededCount or succeededIndexes must be specified";
    problems.required(path, detail);
  }
  const total = countIndexes(indexes ?? "", completions);
  if (typeof total === "string") {
    const detail = `error parsing succeededIndexes: ${total}`;
    problems.invalid(path.child("succeededIndexes"), indexes, detail);
  }
  if (count === undefined) return;
  checkNotNegative({ succeededCount: count }, path, problems);
  const tooMany = (limit: number, what: string) => {
    const detail = `must be less than or equal to ${limit} (the number of ${what})`;
    problems.invalid(path.child("succeededCount"), count, detail);
  };
  if (count > completions) tooMany(completions, "specified completions");
  const known = typeof total === "number" ? total : 0;
  if (indexes !== undefined && count > known) {
    tooMany(known, "indexes in the specified succeededIndexes field");
  }
}

/** Number of indexes in text such as `0,2-4`, or the error message for malformed text. */
function countIndexes(text: string, completions: number): number | string {
  if (text === "") return 0;
  let total = 0;
  let last: number | undefined;
  for (const interval of text.split(",")) {
    const limits = interval.split("-");
    if (limits.length > 2) {
      const rule = "an index interval can have at most two parts separated by '-'";
      return `the fragment "${interval}" violates the requirement that ${rule}`;
    }
    const numbers: number[] = [];
    for (const limit of limits) {
      const fault = indexFault(limit, { completions, last: numbers[0] ?? last });
      if (fault !== undefined) return fault;
      numbers.push(Number(limit));
    }
    const [first = 0, end = first] = numbers;
    total += end - first + 1;
    last = end;
  }
  return total;
}

function indexFault(
  text: string,
  { completions, last }: { readonly completions: number; readonly last: number | undefined },
): string | undefined {
  const quoted = JSON.stringify(text);
  if (!/^[-+]?\d+$/.test(text)) return `cannot convert string to integer for index: ${quoted}`;
  const index = Number(text);
  if (index >= completions) return `too large index: ${quoted}`;
  if (last === undefined || index > last) return undefined;
  return `non-increasing order, previous: ${last}, current: ${index}`;
}

function checkReplacementPolicy(spec: JobSpec, { path, problems }: FieldContext): void {
  const { podReplacementPolicy: policy, podFailurePolicy } = spec;
  if (policy === undefined) return;
  const all = ["Failed", "TerminatingOrFailed"];
  const supported = podFailurePolicy === undefined ? all : ["Failed"];
  if (supported.includes(policy)) return;
  problems.notSupported(path.child("podReplacementPolicy"), policy, supported);
}

/** Requires restartPolicy OnFailure or Never. */
function checkRestartPolicy(spec: JobSpec, path: Path, problems: Problems): void {
  const { restartPolicy: value = "" } = spec.template.spec;
  const supported = ["OnFailure", "Never"];
  if (value === "" || value === "Always") {
    problems.required(path, 'valid values: "OnFailure", "Never"');
  } else if (!supported.includes(value)) unsupported(problems, path, { value, supported });
  else if (spec.podFailurePolicy !== undefined && value !== "Never") {
    const detail = 'only "Never" is supported when podFailurePolicy is specified';
    problems.invalid(path, value, detail);
  }
}
