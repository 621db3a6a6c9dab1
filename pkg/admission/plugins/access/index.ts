/** plugins/access: permission checks, AlwaysAdmit and AlwaysDeny. */
export { alwaysAdmit } from "./always-admit.ts";
export { alwaysDeny } from "./always-deny.ts";
export { createByUpdateAuthorization } from "./create-by-update-authorization.ts";
export { ownerReferencesPermissionEnforcement } from "./owner-references-permission-enforcement.ts";
export { rbacEscalation } from "./rbac-escalation.ts";
