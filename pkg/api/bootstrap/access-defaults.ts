import type { Domain, Kind } from "#meta";
import { clusterRole } from "../rbac/cluster-role.ts";
import { clusterRoleBinding } from "../rbac/cluster-role-binding.ts";
import { role } from "../rbac/role.ts";
import { roleBinding } from "../rbac/role-binding.ts";
import { clusterBindings, namespacedBindings } from "./bindings.ts";
import { controllerRoles } from "./controller-roles.ts";
import { namespacedRoles } from "./namespaced-roles.ts";
import { bindingObject, type DefaultBinding, roleObject } from "./notation.ts";
import { systemRoles } from "./system-roles.ts";
import { userRoles } from "./user-roles.ts";

interface AccessDefault {
  readonly kind: Kind;
  /** In the form of the hub version, not yet defaulted. */
  readonly object: any;
}

const prefix = "system:controller:";

/** A controller has the role that bears its name. */
const controllerBindings: readonly DefaultBinding[] = controllerRoles.map(({ name }) => ({
  name,
  subjects: [`ServiceAccount kube-system/${name.slice(prefix.length)}`],
}));

/** The roles and bindings that every server has, roles first. */
export function accessDefaults(domain: Domain): readonly AccessDefault[] {
  const clusterRoles = [...userRoles, ...systemRoles, ...controllerRoles];
  const bindings = [...clusterBindings, ...controllerBindings];
  const roleOf = (kind: Kind) => (from: (typeof clusterRoles)[number]) => ({
    kind,
    object: roleObject(from, domain),
  });
  const bindingOf = (kind: Kind) => (from: DefaultBinding) => ({
    kind,
    object: bindingObject(from, domain),
  });
  return [
    ...clusterRoles.map(roleOf(clusterRole)),
    ...namespacedRoles.map(roleOf(role)),
    ...bindings.map(bindingOf(clusterRoleBinding)),
    ...namespacedBindings.map(bindingOf(roleBinding)),
  ];
}
