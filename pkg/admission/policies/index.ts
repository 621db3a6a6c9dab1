/** policies: ValidatingAdmissionPolicies and MutatingAdmissionPolicies. */
export type { PolicyParts } from "./input.ts";
export { MutatingPolicies } from "./mutating.ts";
export { ValidatingPolicies } from "./validating.ts";
