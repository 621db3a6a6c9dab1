/** authz: who may do what. */
export { createRight } from "./create-right.ts";
export { escalationCheck } from "./escalation.ts";
export { alwaysAllow, alwaysDeny, firstOpinion, masters } from "./modes.ts";
export { type AccessKind, Rbac } from "./rbac.ts";
export { feedRbac } from "./rbac-feed.ts";
export { accessReviews } from "./reviews.ts";
export { missingRules } from "./rules.ts";
