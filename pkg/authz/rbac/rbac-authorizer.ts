import type {
  PolicyRule,
  AuthorizationAttributes,
  Authorizer,
  Decision,
  KnownRules,
  User,
} from "#request";
import type { FollowedKind } from "../stored-objects.ts";
import {
  type Binding,
  type BindingKind,
  objectKey,
  RbacIndex,
  type RoleKind,
  roleKey,
} from "./rbac-index.ts";

export type AccessKind = RoleKind | BindingKind;

interface AccessObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[] | null;
}

/** RBAC authorizer; uses an in-memory index and never reads the store. */
export class RbacAuthorizer implements Authorizer {
  private readonly index: RbacIndex;

  /** `group` is the resolved API group of roles. */
  constructor(private readonly group: string) {
    this.index = new RbacIndex(group);
  }

  set(kind: AccessKind, object: AccessObject): void {
    const { namespace, name } = object.metadata;
    if (isRole(kind)) this.index.setRole(objectKey(namespace, name), object.rules);
    else this.index.setBinding(kind, object as unknown as Binding);
  }

  delete(kind: AccessKind, key: string): void {
    if (isRole(kind)) this.index.deleteRole(key);
    else this.index.deleteBinding(kind, key);
  }

  /** Kinds to watch. */
  followed(): readonly FollowedKind[] {
    const kinds: readonly (readonly [string, AccessKind])[] = [
      ["clusterroles", "ClusterRole"],
      ["clusterrolebindings", "ClusterRoleBinding"],
      ["roles", "Role"],
      ["rolebindings", "RoleBinding"],
    ];
    return kinds.map(([plural, kind]) => ({
      group: this.group,
      version: "v1",
      plural,
      index: {
        set: (object) => this.set(kind, object),
        delete: (key) => this.delete(kind, key),
        keys: () => this.index.keys(kind),
      },
    }));
  }

  authorize({ user, request }: AuthorizationAttributes): Decision {
    const found = this.index.find(user, request);
    if ("reason" in found) {
      return { verdict: "allow", reason: `RBAC: allowed by ${found.reason}` };
    }
    return { verdict: "no-opinion", reason: found.length === 0 ? "" : `RBAC: ${aggregate(found)}` };
  }

  rules(user: User, namespace: string): KnownRules {
    const { rules, dangling } = this.index.rulesOf(user, namespace);
    return { rules, incomplete: false, error: aggregate(dangling) };
  }

  /** Rules of the role that a binding in `namespace` references; undefined = not found. */
  rulesOfRole(
    reference: { readonly kind: string; readonly name: string },
    namespace: string,
  ): readonly PolicyRule[] | undefined {
    return this.index.roleRules(roleKey(reference, namespace));
  }
}

function isRole(kind: AccessKind): kind is RoleKind {
  return kind === "ClusterRole" || kind === "Role";
}

/** Joins errors like Kubernetes' aggregate errors. */
export function aggregate(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  return different.length > 1 ? `[${different.join(", ")}]` : (different[0] ?? "");
}
