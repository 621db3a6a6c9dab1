import { type Infer, Path, type Problems } from "#schema";
import { deepEqual } from "#base";
import { kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { checkExpression, type ExpressionScope } from "./policy-expressions.ts";
import { same } from "../../strategy.ts";
import {
  checkChoice,
  checkMatchConditions,
  checkMatchResources,
  checkMutatingOperations,
  checkParamKind,
  checkVariables,
  failurePolicies,
  paramKindCell,
  reinvocationPolicies,
} from "./policy-rules.ts";
import { mutatingV1alpha1, mutatingV1beta1 } from "./mutating-policy-structs.ts";

type Policy = Infer<typeof mutatingV1alpha1.policy>;
type Mutation = NonNullable<Policy["spec"]["mutations"]>[number];

const path = Path.of("spec");

/** Match conditions that are unchanged since `old` are not validated again. */
function validate({ spec }: Policy, problems: Problems, old?: Policy): void {
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
    checkMutatingOperations(spec.matchConstraints, matchConstraintsPath, problems);
  }
  const rest = { problems, scope: { params: spec.paramKind !== undefined, authorizer: true } };
  if (old === undefined || !deepEqual(conditionsOf(spec), conditionsOf(old.spec))) {
    checkMatchConditions(spec.matchConditions ?? [], path.child("matchConditions"), rest);
  }
  const scope = checkVariables(spec.variables ?? [], path.child("variables"), rest);
  const mutations = spec.mutations ?? [];
  if (mutations.length === 0) {
    problems.required(path.child("mutations"), "mutations must contain at least one item");
  }
  for (const [index, each] of mutations.entries()) {
    const check = { problems, scope: { ...scope, hasPatchTypes: true } };
    checkMutation(each, path.child("mutations").index(index), check);
  }
  checkChoice(spec.reinvocationPolicy || undefined, path.child("reinvocationPolicy"), {
    values: reinvocationPolicies,
    problems,
  });
}

function conditionsOf({ paramKind, matchConditions }: Policy["spec"]): unknown {
  return { paramKind, matchConditions: matchConditions ?? [] };
}

const patchTypes = ["ApplyConfiguration", "JSONPatch"] as const;
const fieldOf = { ApplyConfiguration: "applyConfiguration", JSONPatch: "jsonPatch" } as const;

interface Check {
  readonly problems: Problems;
  readonly scope: ExpressionScope;
}

/** Requires the field that belongs to the patch type, and forbids the other one. */
function checkMutation(mutation: Mutation, path: Path, { problems, scope }: Check): void {
  const { patchType } = mutation;
  if (patchType === "") return problems.required(path.child("patchType"));
  const known = patchTypes.find((type) => type === patchType);
  if (known === undefined) {
    return problems.notSupported(path.child("patchType"), patchType, patchTypes);
  }
  for (const type of [known, ...patchTypes.filter((each) => each !== known)]) {
    const field = fieldOf[type];
    const value = mutation[field];
    const at = path.child(field);
    if (type !== known && value !== undefined) {
      const detail = `must not be specified when patchType is ${known}`;
      problems.invalid(at, `{${field}}`, detail);
    } else if (type === known && value === undefined) {
      problems.required(at, `must be specified when patchType is ${known}`);
    } else if (type === known) {
      const expression = value?.expression ?? "";
      const inside = at.child("expression");
      if (expression.trim() === "") problems.required(inside);
      else checkExpression(expression, inside, { position: field, scope, problems });
    }
  }
}

export const mutatingAdmissionPolicy = kind(mutatingV1alpha1.policy, {
  group: "admissionregistration.{api}",
  kind: "MutatingAdmissionPolicy",
  plural: "mutatingadmissionpolicies",
  categories: ["api-extensions"],
  scope: "Cluster",
  versions: [
    { version: "v1beta1", struct: mutatingV1beta1.policy, onByDefault: false, convert: same },
    { version: "v1alpha1", struct: mutatingV1alpha1.policy, onByDefault: false, convert: "hub" },
  ],
  rules: {
    freeFinalizers: true,
    metadataOnUpdate: { "": ["object"] },
    unconditionalUpdate: false,
    generation: true,
  },
  hooks: {
    validate: (object, problems) => validate(object, problems),
    validateUpdate: (object, old, problems) => validate(object, problems, old),
  },
  columns: [
    nameColumn,
    column("Mutations", "Number of mutations.", { type: "integer" }),
    column("ParamKind", "Kind of the parameter objects."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.mutations?.length ?? 0,
    paramKindCell(object.spec.paramKind),
    ageOf(object, context),
  ],
});
