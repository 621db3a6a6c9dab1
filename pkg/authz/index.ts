/** authz: who may do what. */
export {
  type AuthorizationMode,
  authorizationModes,
  type ConfiguredAuthorizer,
  parseAuthorizationConfiguration,
} from "./configuration.ts";
export { createRight } from "./create-authorization.ts";
export { escalationCheck } from "./rbac/escalation-check.ts";
export { feed, type Followed } from "./stored-objects.ts";
export { alwaysAllow, alwaysDeny, firstOpinion, masters } from "./modes.ts";
export { NodeAuthorizer } from "./node/node-authorizer.ts";
export { policiesOfAttributes } from "./abac/abac-authorizer.ts";
export { type AccessKind, Rbac } from "./rbac/rbac-authorizer.ts";
export { accessReviews } from "./reviews/access-reviews.ts";
export { missingRules } from "./rbac/policy-rules.ts";
export { WebhookAuthorizer } from "./webhook/webhook-authorizer.ts";
export { fieldTermsOf, labelTermsOf } from "./reviews/selector-requirements.ts";
