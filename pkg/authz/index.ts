/** authz: authorizers and access reviews. */
export {
  type AuthorizationMode,
  authorizationModes,
  type ConfiguredAuthorizer,
  parseAuthorizationConfiguration,
} from "./configuration.ts";
export { authorizeCreateByUpdate } from "./create-authorization.ts";
export { rbacEscalationCheck } from "./rbac/escalation-check.ts";
export { followKinds, type FollowedKind } from "./stored-objects.ts";
export { alwaysAllow, alwaysDeny, unionAuthorizer, superuserAuthorizer } from "./modes.ts";
export { NodeAuthorizer } from "./node/node-authorizer.ts";
export { abacAuthorizer } from "./abac/abac-authorizer.ts";
export { type AccessKind, RbacAuthorizer } from "./rbac/rbac-authorizer.ts";
export { accessReviews } from "./reviews/access-reviews.ts";
export { uncoveredRules } from "./rbac/policy-rules.ts";
export { WebhookAuthorizer } from "./webhook/webhook-authorizer.ts";
export { fieldTermsOf, labelTermsOf } from "./reviews/selector-requirements.ts";
