/** policies: rules in CEL that clusters configure as objects. */
export type { PolicyParts } from "./input.ts";
export { MutatingPolicies } from "./mutating.ts";
export { ValidatingPolicies } from "./validating.ts";
