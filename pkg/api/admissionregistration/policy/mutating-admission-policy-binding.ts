import { type Infer, Path, type Problems } from "#schema";
import { kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { same } from "../../strategy.ts";
import {
  checkMatchResources,
  checkMutatingOperations,
  checkParamRef,
  checkPolicyName,
  paramRefCell,
} from "./policy-rules.ts";
import { mutatingV1alpha1, mutatingV1beta1 } from "./mutating-policy-structs.ts";

type Binding = Infer<typeof mutatingV1alpha1.binding>;

const path = Path.of("spec");

function validate({ spec }: Binding, problems: Problems): void {
  checkPolicyName(spec.policyName ?? "", path.child("policyName"), problems);
  checkParamRef(spec.paramRef, path.child("paramRef"), problems);
  const matchResourcesPath = path.child("matchResources");
  checkMatchResources(spec.matchResources, matchResourcesPath, problems);
  checkMutatingOperations(spec.matchResources, matchResourcesPath, problems);
}

export const mutatingAdmissionPolicyBinding = kind(mutatingV1alpha1.binding, {
  group: "admissionregistration.{api}",
  kind: "MutatingAdmissionPolicyBinding",
  plural: "mutatingadmissionpolicybindings",
  categories: ["api-extensions"],
  scope: "Cluster",
  versions: [
    { version: "v1beta1", struct: mutatingV1beta1.binding, onByDefault: false, convert: same },
    { version: "v1alpha1", struct: mutatingV1alpha1.binding, onByDefault: false, convert: "hub" },
  ],
  rules: {
    freeFinalizers: true,
    metadataOnUpdate: { "": ["object"] },
    unconditionalUpdate: false,
    generation: true,
  },
  hooks: { validate },
  columns: [
    nameColumn,
    column("PolicyName", "Name of the bound policy."),
    column("ParamRef", "Parameter objects for the policy."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.policyName ?? "",
    paramRefCell(object.spec.paramRef),
    ageOf(object, context),
  ],
});
