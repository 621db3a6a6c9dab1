/** authz: who may do what. */
export {
  type AuthorizationMode,
  authorizationModes,
  type ConfiguredAuthorizer,
  parseAuthorizationConfiguration,
} from "./configuration.ts";
export { createRight } from "./create-right.ts";
export { escalationCheck } from "./escalation.ts";
export { feed, type Followed } from "./feed.ts";
export { alwaysAllow, alwaysDeny, firstOpinion, masters } from "./modes.ts";
export { NodeAuthorizer } from "./node-authorizer.ts";
export { policiesOfAttributes } from "./policies-of-attributes.ts";
export { type AccessKind, Rbac } from "./rbac.ts";
export { accessReviews } from "./reviews.ts";
export { missingRules } from "./rules.ts";
export { WebhookAuthorizer } from "./webhook.ts";
export { fieldTermsOf, labelTermsOf } from "./selector-terms.ts";
