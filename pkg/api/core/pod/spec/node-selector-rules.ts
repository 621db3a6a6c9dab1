/** Validation of node selectors. */
import type { Infer, Path, Problems } from "#schema";
import { isDns1123Subdomain, isLabelValue, isQualifiedName } from "#meta";
import { invalidEach } from "../../../strategy.ts";
import type { nodeSelector, nodeSelectorTerm } from "./scheduling.ts";

type NodeSelector = Infer<typeof nodeSelector>;
type NodeSelectorTerm = Infer<typeof nodeSelectorTerm>;
type Requirement = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];

interface Options {
  /** Skips the check that values are valid label values. */
  readonly anyValue?: boolean;
  readonly problems: Problems;
}

export function checkNodeSelector(selector: NodeSelector, path: Path, options: Options): void {
  const terms = selector.nodeSelectorTerms ?? [];
  const nodeSelectorTermsPath = path.child("nodeSelectorTerms");
  if (terms.length === 0) {
    options.problems.required(nodeSelectorTermsPath, "must have at least one node selector term");
  }
  for (const [index, term] of terms.entries()) {
    checkNodeSelectorTerm(term, nodeSelectorTermsPath.index(index), options);
  }
}

export function checkNodeSelectorTerm(
  { matchExpressions, matchFields }: NodeSelectorTerm,
  path: Path,
  options: Options,
): void {
  for (const [index, requirement] of (matchExpressions ?? []).entries()) {
    checkExpression(requirement, path.child("matchExpressions").index(index), options);
  }
  for (const [index, requirement] of (matchFields ?? []).entries()) {
    checkField(requirement, path.child("matchFields").index(index), options.problems);
  }
}

function checkExpression(
  { key, operator, values = [] }: Requirement,
  path: Path,
  { anyValue, problems }: Options,
): void {
  const valuesPath = path.child("values");
  if (operator === "In" || operator === "NotIn") {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'";
    if (values.length === 0) problems.required(valuesPath, detail);
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (values.length > 0) problems.forbidden(valuesPath, detail);
  } else if (operator === "Gt" || operator === "Lt") {
    const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
    if (values.length !== 1) problems.required(valuesPath, detail);
  } else problems.invalid(path.child("operator"), operator, "not a valid selector operator");
  invalidEach(problems, path.child("key"), { value: key, messages: isQualifiedName(key) });
  if (anyValue) return;
  for (const [index, value] of values.entries()) {
    invalidEach(problems, valuesPath.index(index), { value, messages: isLabelValue(value) });
  }
}

function checkField(
  { key, operator, values = [] }: Requirement,
  path: Path,
  problems: Problems,
): void {
  const valuesPath = path.child("values");
  if (operator !== "In" && operator !== "NotIn") {
    problems.invalid(path.child("operator"), operator, "not a valid selector operator");
  } else if (values.length !== 1) {
    const operators = "`operator` is 'In' or 'NotIn'";
    problems.required(
      valuesPath,
      `must be only one value when ${operators} for node field selector`,
    );
  }
  if (key !== "metadata.name") {
    return problems.invalid(path.child("key"), key, "not a valid field selector key");
  }
  for (const [index, value] of values.entries()) {
    invalidEach(problems, valuesPath.index(index), { value, messages: isDns1123Subdomain(value) });
  }
}
