import { type Infer, Path, type Problems } from "#schema";
import { kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import {
  checkMatchResources,
  checkParamRef,
  checkPolicyName,
  paramRefCell,
} from "./policy-rules.ts";
import { validatingV1 } from "./validating-policy-structs.ts";
import { duplicateIndexes } from "../../strategy.ts";

type Binding = Infer<typeof validatingV1.binding>;

const actions = ["Audit", "Deny", "Warn"];
const path = Path.of("spec");

function validate({ spec }: Binding, problems: Problems): void {
  checkPolicyName(spec.policyName ?? "", path.child("policyName"), problems);
  checkParamRef(spec.paramRef, path.child("paramRef"), problems);
  checkMatchResources(spec.matchResources, path.child("matchResources"), problems);
  checkActions(spec.validationActions ?? [], problems);
}

function checkActions(values: readonly string[], problems: Problems): void {
  const validationActionsPath = path.child("validationActions");
  const repeated = duplicateIndexes(values, (action) => action);
  for (const [index, action] of values.entries()) {
    if (!actions.includes(action))
      problems.notSupported(validationActionsPath.index(index), action, actions);
    if (repeated.has(index)) problems.duplicate(validationActionsPath.index(index), action);
  }
  if (values.includes("Deny") && values.includes("Warn")) {
    const detail =
      "must not contain both Deny and Warn (repeating the same validation failure information " +
      "in the API response and headers serves no purpose)";
    problems.invalid(validationActionsPath, values, detail);
  }
  if (values.length === 0) {
    problems.required(validationActionsPath, "at least one validation action is required");
  }
}

export const validatingAdmissionPolicyBinding = kind(validatingV1.binding, {
  group: "admissionregistration.{api}",
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  categories: ["api-extensions"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: validatingV1.binding, onByDefault: true, convert: "hub" }],
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
