import { type Infer, Path, type Problems } from "#schema";
import { deepEqual } from "#base";
import { isQualifiedName, kind } from "#meta";
import { checkConditions } from "../../condition-rules.ts";
import { checkJsonPath } from "../../json-path.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { splitByStatusSubresource, invalidEach } from "../../strategy.ts";
import { checkExpression, type ExpressionScope } from "./policy-expressions.ts";
import {
  checkChoice,
  checkMatchConditions,
  checkMatchResources,
  checkParamKind,
  checkVariables,
  failurePolicies,
  paramKindCell,
} from "./policy-rules.ts";
import { validatingV1 } from "./validating-policy-structs.ts";

type Policy = Infer<typeof validatingV1.policy>;
type Spec = Policy["spec"];
type Validation = NonNullable<Spec["validations"]>[number];

const maxAnnotations = 20;
const maxValueExpressionLength = 5 * 1024;
const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const path = Path.of("spec");

/** Match conditions that are unchanged since `old` are not validated again. */
function validate(policy: Policy, problems: Problems, old?: Policy): void {
  const { spec } = policy;
  const values = { values: failurePolicies, problems };
  checkChoice(spec.failurePolicy, path.child("failurePolicy"), values);
  checkParamKind(spec.paramKind, path.child("paramKind"), problems);
  const matchConstraintsPath = path.child("matchConstraints");
  if (spec.matchConstraints === undefined) problems.required(matchConstraintsPath);
  else {
    checkMatchResources(spec.matchConstraints, matchConstraintsPath, problems);
    if ((spec.matchConstraints.resourceRules ?? []).length === 0) {
      problems.required(matchConstraintsPath.child("resourceRules"));
    }
  }
  const rest = { problems, scope: { params: spec.paramKind !== undefined, authorizer: true } };
  if (old === undefined || !deepEqual(conditionsOf(spec), conditionsOf(old.spec))) {
    checkMatchConditions(spec.matchConditions ?? [], path.child("matchConditions"), rest);
  }
  const { variables = [] } = spec;
  const extended = checkVariables(variables, path.child("variables"), rest);
  // As in Kubernetes, `variables` is undeclared in a validating policy without any.
  const scope = variables.length === 0 ? rest.scope : extended;
  checkDemands(policy, { problems, scope });
}

function conditionsOf({ paramKind, matchConditions }: Spec): unknown {
  return { paramKind, matchConditions: matchConditions ?? [] };
}

interface Check {
  readonly problems: Problems;
  readonly scope: ExpressionScope;
}

function checkDemands({ metadata, spec }: Policy, check: Check): void {
  const { problems } = check;
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = "validations or auditAnnotations must contain at least one item";
    problems.required(path.child("validations"), detail);
    problems.required(path.child("auditAnnotations"), detail);
    return;
  }
  for (const [index, each] of validations.entries()) {
    checkValidation(each, path.child("validations").index(index), check);
  }
  checkAnnotations(auditAnnotations, metadata.name ?? "", check);
}

const notEmpty = "must be non-empty if specified";

function checkValidation(validation: Validation, path: Path, check: Check): void {
  const { problems } = check;
  const { expression, message = "", reason } = validation;
  const at = path.child("expression");
  if (expression.trim() === "") problems.required(at, "expression is not specified");
  else checkExpression(expression, at, { ...check, position: "condition" });
  checkMessageExpression(validation, path.child("messageExpression"), check);
  if (message !== "" && message.trim() === "") {
    problems.invalid(path.child("message"), message, notEmpty);
  } else if (/[\n\r]/.test(message.trim())) {
    problems.invalid(path.child("message"), message, "must not contain line breaks");
  }
  // Kubernetes documents Unauthorized, but neither accepts nor lists it; Keelson accepts it.
  if (reason === undefined || reason === "Unauthorized" || reasons.includes(reason)) return;
  problems.notSupported(path.child("reason"), reason, reasons);
}

/** Message expressions have no access to the authorizer. */
function checkMessageExpression(
  { messageExpression: expression = "" }: Validation,
  path: Path,
  { problems, scope }: Check,
): void {
  if (expression === "") return;
  if (expression.trim() === "") return problems.invalid(path, expression, notEmpty);
  const rest = { position: "message", scope: { ...scope, authorizer: false }, problems } as const;
  checkExpression(expression, path, rest);
}

function checkAnnotations(
  annotations: NonNullable<Spec["auditAnnotations"]>,
  policyName: string,
  check: Check,
): void {
  const { problems } = check;
  const list = path.child("auditAnnotations");
  if (annotations.length > maxAnnotations) {
    // Reported with the field names of Go's struct, as in Kubernetes.
    const goAnnotations = annotations.map(({ key, valueExpression }) => {
      return { Key: key, ValueExpression: valueExpression };
    });
    const detail = `must not have more than ${maxAnnotations} auditAnnotations`;
    problems.invalid(list, goAnnotations, detail);
  }
  const seen = new Set<string>();
  for (const [index, { key, valueExpression }] of annotations.entries()) {
    const keyPath = list.index(index).child("key");
    const name = `${policyName}/${key}`;
    if (policyName === "") problems.invalid(keyPath, key, "requires metadata.name be non-empty");
    else invalidEach(problems, keyPath, { value: name, messages: isQualifiedName(name) });
    checkValue(valueExpression.trim(), list.index(index).child("valueExpression"), check);
    if (seen.has(key)) problems.duplicate(keyPath, key);
    seen.add(key);
  }
}

function checkValue(expression: string, path: Path, check: Check): void {
  const { problems } = check;
  if (expression === "") problems.required(path, "valueExpression is not specified");
  else if (Buffer.byteLength(expression) > maxValueExpressionLength) {
    problems.required(path, `must not exceed ${maxValueExpressionLength} bytes in length`);
  } else checkExpression(expression, path, { ...check, position: "annotation" });
}

function checkStatus({ status }: Policy, problems: Problems): void {
  const warnings = status.typeChecking?.expressionWarnings ?? [];
  for (const [index, { fieldRef, warning }] of warnings.entries()) {
    const itemPath = Path.of("status.typeChecking.expressionWarnings").index(index);
    if (warning === "") problems.required(itemPath.child("warning"));
    const reference = fieldRef.trim();
    if (reference === "") problems.required(itemPath.child("fieldRef"));
    else checkJsonPath(reference, itemPath.child("fieldRef"), problems);
  }
  checkConditions(status.conditions, Path.of("status.conditions"), problems);
}

export const validatingAdmissionPolicy = kind(validatingV1.policy, {
  group: "admissionregistration.{api}",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  categories: ["api-extensions"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: validatingV1.policy, onByDefault: true, convert: "hub" }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    freeFinalizers: true,
    metadataOnUpdate: { "": ["object"], status: [] },
    unconditionalUpdate: false,
    generation: true,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    ...splitByStatusSubresource(() => ({})),
    validate: (object, problems) => validate(object, problems),
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") checkStatus(object, problems);
      else validate(object, problems, old);
    },
  },
  columns: [
    nameColumn,
    column("Validations", "Number of validations.", { type: "integer" }),
    column("ParamKind", "Kind of the parameter objects."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.validations?.length ?? 0,
    paramKindCell(object.spec.paramKind),
    ageOf(object, context),
  ],
});
