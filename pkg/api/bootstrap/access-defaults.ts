import type { Kind } from "#meta";
import { clusterRole } from "../rbac/cluster-role.ts";
import { clusterRoleBinding } from "../rbac/cluster-role-binding.ts";
import { role } from "../rbac/role.ts";
import { roleBinding } from "../rbac/role-binding.ts";
import { clusterBindings, namespacedBindings } from "./bindings.ts";
import { controllerRoles } from "./controller-roles.ts";
import { namespacedRoles } from "./namespaced-roles.ts";
import {
  bindingObject,
  type BootstrapContext,
  type DefaultBinding,
  roleObject,
} from "./notation.ts";
import { systemRoles } from "./system-roles.ts";
import { userRoles } from "./user-roles.ts";

export interface AccessDefault {
  readonly kind: Kind;
  /** Object in the hub version, before defaulting. */
  readonly object: any;
}

const prefix = "system:controller:";

/** Binds each controller's service account to the role of the same name. */
const controllerBindings: readonly DefaultBinding[] = controllerRoles.map(({ name, gate }) => ({
  name,
  ...(gate === undefined ? {} : { gate }),
  subjects: [`ServiceAccount kube-system/${name.slice(prefix.length)}`],
}));

/** Default RBAC roles and bindings, roles first. */
export function accessDefaults(context: BootstrapContext): readonly AccessDefault[] {
  const served = <T extends { readonly gate?: string }>(all: readonly T[]): readonly T[] =>
    all.filter(({ gate }) => gate === undefined || context.gate(gate));
  const rolesOf = (kind: Kind, roles: typeof userRoles) =>
    served(roles).map((each) => ({ kind, object: roleObject(each, context) }));
  const bindingsOf = (kind: Kind, bindings: readonly DefaultBinding[]) =>
    served(bindings).map((each) => ({ kind, object: bindingObject(each, context) }));
  return [
    ...rolesOf(clusterRole, [...userRoles, ...systemRoles, ...controllerRoles]),
    ...rolesOf(role, namespacedRoles),
    ...bindingsOf(clusterRoleBinding, [...clusterBindings, ...controllerBindings]),
    ...bindingsOf(roleBinding, namespacedBindings),
  ];
}
