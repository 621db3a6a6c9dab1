/** dynamic: common parts of webhooks and policies. */
export { admissionRequest, requestTail } from "./admission-request.ts";
export { expressionOf, meetsConditions } from "./conditions.ts";
export {
  authorizerBindings,
  Evaluation,
  type Expression,
  CostBudgetError,
  authorizationRequest,
  type Variable,
} from "./evaluation.ts";
export { FollowedKind } from "./followed-kind.ts";
export { matchedAs, type MatchConstraints, MatchIndex } from "./match-index.ts";
export { VersionedAttributes, type VersionedAttributesOptions } from "./versioned-attributes.ts";
export type { Rule } from "./rules.ts";
export { type Json, convertTo } from "./versions.ts";
export { namespacesSelect, objectsSelect, type Selectors, selectorsOf } from "./selectors.ts";
export { kindFault } from "./kind-fault.ts";
