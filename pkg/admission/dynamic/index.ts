/** dynamic: what webhooks and policies that are configured at run time have in common. */
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
export { matchedAs, type Matching, MatchIndex } from "./match-index.ts";
export { VersionedAttributes, type VersionedAttributesOptions } from "./versioned-attributes.ts";
export type { Rule } from "./rules.ts";
export { type Json, shown } from "./versions.ts";
export { namespacesSelect, objectsSelect, type Selectors, selectorsOf } from "./selectors.ts";
