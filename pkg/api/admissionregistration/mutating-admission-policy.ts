import { type Infer, Path, type Problems } from "#schema";
import { kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { same } from "../strategy.ts";
import {
  checkChoice,
  checkMatchConditions,
  checkMatchResources,
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

function validate({ spec }: Policy, problems: Problems): void {
  const values = { values: failurePolicies, problems };
  checkChoice(spec.failurePolicy, path.child("failurePolicy"), values);
  checkParamKind(spec.paramKind, path.child("paramKind"), problems);
  const place = path.child("matchConstraints");
  if (spec.matchConstraints === undefined) problems.required(place);
  else {
    checkMatchResources(spec.matchConstraints, place, problems);
    if ((spec.matchConstraints.resourceRules ?? []).length === 0) {
      problems.required(place.child("resourceRules"));
    }
  }
  checkMatchConditions(spec.matchConditions ?? [], path.child("matchConditions"), problems);
  checkVariables(spec.variables ?? [], path.child("variables"), problems);
  const mutations = spec.mutations ?? [];
  if (mutations.length === 0) {
    problems.required(path.child("mutations"), "mutations must contain at least one item");
  }
  for (const [index, each] of mutations.entries()) {
    checkMutation(each, path.child("mutations").index(index), problems);
  }
  checkChoice(spec.reinvocationPolicy || undefined, path.child("reinvocationPolicy"), {
    values: reinvocationPolicies,
    problems,
  });
}

const patchTypes = ["ApplyConfiguration", "JSONPatch"] as const;
const fieldOf = { ApplyConfiguration: "applyConfiguration", JSONPatch: "jsonPatch" } as const;

/** The field that the patch type names must be there, and the other must not. */
function checkMutation(mutation: Mutation, place: Path, problems: Problems): void {
  const { patchType } = mutation;
  if (patchType === "") return problems.required(place.child("patchType"));
  const known = patchTypes.find((type) => type === patchType);
  if (known === undefined) {
    return problems.notSupported(place.child("patchType"), patchType, patchTypes);
  }
  for (const type of patchTypes) {
    const field = fieldOf[type];
    const value = mutation[field];
    const at = place.child(field);
    if (type !== known && value !== undefined) {
      const detail = `${field} must not be set when patchType is ${known}`;
      problems.invalid(at, `{${field}}`, detail);
    } else if (type === known && value === undefined) {
      problems.required(at, `must be specified when patchType is ${known}`);
    } else if (type === known && (value?.expression ?? "").trim() === "") {
      problems.required(at.child("expression"), "expression is not specified");
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
  rules: { unconditionalUpdate: false, generation: true },
  hooks: { validate },
  columns: [
    nameColumn,
    column("Mutations", "Number of changes that the policy makes.", { type: "integer" }),
    column("ParamKind", "Kind of the objects that parametrize the policy."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.mutations?.length ?? 0,
    paramKindCell(object.spec.paramKind),
    ageOf(object, context),
  ],
});
