/** Validation shared by both kinds of admission policies and their bindings. */
import type { Path, Problems } from "#schema";
import { isDns1035Label, isDns1123Subdomain, isPathSegmentName, isQualifiedName } from "#meta";
import { type CelType, dyn } from "#cel";
import { checkLabelSelector } from "../../label-selector.ts";
import { invalidEach, duplicateIndexes, unsupported } from "../../strategy.ts";
import { checkExpression, type ExpressionScope } from "./policy-expressions.ts";
import type {
  MatchCondition,
  MatchResources,
  ParamKind,
  ParamRef,
  Variable,
} from "./policy-structs.ts";
import { checkRule } from "../rule.ts";

const maxConditions = 64;
export const failurePolicies = ["Fail", "Ignore"];
export const matchPolicies = ["Equivalent", "Exact"];
export const reinvocationPolicies = ["IfNeeded", "Never"];

/** `Required value` or `Unsupported value` unless one of `values`. */
export function checkChoice(
  value: string | undefined,
  path: Path,
  { values, problems }: { readonly values: readonly string[]; readonly problems: Problems },
): void {
  if (value === undefined) problems.required(path);
  else if (!values.includes(value)) problems.notSupported(path, value, values);
}

export function checkMatchResources(
  resources: MatchResources | undefined,
  path: Path,
  problems: Problems,
): void {
  if (resources === undefined) return;
  const { matchPolicy, namespaceSelector, objectSelector } = resources;
  checkChoice(matchPolicy, path.child("matchPolicy"), { values: matchPolicies, problems });
  for (const [name, selector] of Object.entries({ namespaceSelector, objectSelector })) {
    if (selector === undefined) problems.required(path.child(name));
    checkLabelSelector(selector, path.child(name), problems);
  }
  for (const field of ["resourceRules", "excludeResourceRules"] as const) {
    for (const [index, rule] of (resources[field] ?? []).entries()) {
      const itemPath = path.child(field).index(index);
      checkResourceNames(rule.resourceNames ?? [], itemPath.child("resourceNames"), problems);
      checkRule(rule, itemPath, problems);
    }
  }
}

const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

/** Rejects the operation DELETE in mutating policies: a deleted object cannot be changed. */
export function checkMutatingOperations(
  resources: MatchResources | undefined,
  path: Path,
  problems: Problems,
): void {
  const operationsPath = path.child("resourceRules", "operations");
  for (const { operations = [] } of resources?.resourceRules ?? []) {
    for (const operation of operations) {
      if (mutatingOperations.includes(operation)) continue;
      problems.notSupported(operationsPath, operation, mutatingOperations);
    }
  }
}

function checkResourceNames(names: readonly string[], path: Path, problems: Problems): void {
  const repeated = duplicateIndexes(names, (name) => name);
  for (const [index, name] of names.entries()) {
    const itemPath = path.index(index);
    invalidEach(problems, itemPath, { value: name, messages: isPathSegmentName(name) });
    if (repeated.has(index)) problems.duplicate(itemPath, name);
  }
}

export function checkMatchConditions(
  conditions: readonly MatchCondition[],
  path: Path,
  { problems, scope }: { readonly problems: Problems; readonly scope: ExpressionScope },
): void {
  if (conditions.length > maxConditions) {
    problems.tooMany(path, conditions.length, maxConditions);
  }
  const seen = new Set<string>();
  for (const [index, { name, expression }] of conditions.entries()) {
    const itemPath = path.index(index);
    const text = expression.trim();
    const expressionPath = itemPath.child("expression");
    if (text === "") problems.required(expressionPath);
    else checkExpression(text, expressionPath, { position: "condition", scope, problems });
    if (name === "") problems.required(itemPath.child("name"));
    else {
      const messages = isQualifiedName(name);
      invalidEach(problems, itemPath.child("name"), { value: name, messages });
    }
    if (name !== "" && seen.has(name)) problems.duplicate(itemPath.child("name"), name);
    seen.add(name);
  }
}

export function checkParamKind(kind: ParamKind | undefined, path: Path, problems: Problems): void {
  if (kind === undefined) return;
  checkApiVersion(kind.apiVersion ?? "", path.child("apiVersion"), problems);
  const name = kind.kind ?? "";
  const messages = isDns1035Label(name.toLowerCase());
  if (name === "") problems.required(path.child("kind"));
  else if (messages.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${messages.join(",")}`;
    problems.invalid(path.child("kind"), name, detail);
  }
}

function checkApiVersion(apiVersion: string, path: Path, problems: Problems): void {
  if (apiVersion === "") return problems.required(path);
  const parts = apiVersion === "/" ? [""] : apiVersion.split("/");
  if (parts.length > 2) {
    return problems.invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  }
  const version = parts.at(-1) ?? "";
  const group = parts.length === 2 ? (parts[0] ?? "") : "";
  const ofGroup = group === "" ? [] : isDns1123Subdomain(group);
  if (ofGroup.length > 0) problems.invalid(path, group, ofGroup.join(","));
  if (version === "") return problems.invalid(path, apiVersion, "version must be specified");
  const ofVersion = isDns1035Label(version);
  if (ofVersion.length > 0) problems.invalid(path, version, ofVersion.join(","));
}

const reservedWords = new Set(
  (
    "true false null in as break const continue else for function if import let loop package " +
    "namespace return var void while"
  ).split(" "),
);

/**
 * Validates the variables and returns the scope that contains them. A variable may use the
 * preceding ones; one that does not compile has type dyn there. Of variables with the same name,
 * the last one counts.
 */
export function checkVariables(
  variables: readonly Variable[],
  path: Path,
  { problems, scope }: { readonly problems: Problems; readonly scope: ExpressionScope },
): ExpressionScope {
  const types = new Map<string, CelType>();
  const extended = { ...scope, variables: types };
  for (const [index, { name, expression }] of variables.entries()) {
    const itemPath = path.index(index);
    if (name.trim() === "") problems.required(itemPath.child("name"), "name is not specified");
    else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || reservedWords.has(name)) {
      problems.invalid(itemPath.child("name"), name, "must be a valid CEL identifier");
    }
    const expressionPath = itemPath.child("expression");
    if (expression.trim() === "") problems.required(expressionPath, "expression is not specified");
    else {
      const then = (type: CelType): void => void types.set(name, type);
      checkExpression(expression, expressionPath, {
        position: "variable",
        scope: extended,
        problems,
        then,
      });
    }
    // The variable is dyn unless its expression compiles.
    problems.defer(() => void (types.has(name) || types.set(name, dyn)));
  }
  return extended;
}

export function checkPolicyName(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path);
  invalidEach(problems, path, { value: name, messages: isDns1123Subdomain(name) });
}

export function checkParamRef(
  reference: ParamRef | undefined,
  path: Path,
  problems: Problems,
): void {
  if (reference === undefined) return;
  const { name = "", selector, parameterNotFoundAction: action = "" } = reference;
  const excluded = "name and selector are mutually exclusive";
  if (name !== "") {
    invalidEach(problems, path.child("name"), { value: name, messages: isPathSegmentName(name) });
    if (selector !== undefined) problems.forbidden(path.child("name"), excluded);
  }
  checkLabelSelector(selector, path.child("selector"), problems);
  if (selector !== undefined && name !== "") problems.forbidden(path.child("selector"), excluded);
  if (name === "" && selector === undefined) {
    problems.required(path, "one of name or selector must be specified");
  }
  const parameterNotFoundActionPath = path.child("parameterNotFoundAction");
  const supported = ["Deny", "Allow"];
  if (action === "") problems.required(parameterNotFoundActionPath);
  else if (!supported.includes(action))
    unsupported(problems, parameterNotFoundActionPath, { value: action, supported });
}

/** Table cell of paramKind: `apps/v1/Kind`, or `<unset>` for a policy without parameters. */
export function paramKindCell(kind: ParamKind | undefined): string {
  return kind === undefined ? "<unset>" : `${kind.apiVersion ?? ""}/${kind.kind ?? ""}`;
}

/**
 * Table cell of paramRef: `namespace/name` (`*` = namespace of the request), or the selector as Go
 * prints it.
 */
export function paramRefCell(reference: ParamRef | undefined): string {
  if (reference === undefined) return "<unset>";
  const { name, namespace, selector } = reference;
  if (name) return `${namespace || "*"}/${name}`;
  return selector === undefined ? "<unset>" : goSelector(selector);
}

type Selector = NonNullable<ParamRef["selector"]>;

/** Go's `%v` format of a pointer to a label selector. */
function goSelector({ matchLabels = {}, matchExpressions = [] }: Selector): string {
  const labels = Object.keys(matchLabels)
    .sort()
    .map((key) => `${key}: ${matchLabels[key] ?? ""},`)
    .join("");
  const expressions = matchExpressions
    .map(({ key, operator, values = [] }) => {
      const fields = `Key:${key},Operator:${operator},Values:[${values.join(" ")}]`;
      return `LabelSelectorRequirement{${fields},},`;
    })
    .join("");
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labels}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`
  );
}
