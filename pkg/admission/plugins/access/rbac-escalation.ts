import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * RBAC privilege-escalation check: a user may grant only permissions that they hold, or needs the
 * verb `escalate` (roles) or `bind` (bindings). Runs in the last round only, which has the final object.
 */
export const rbacEscalation: AdmissionPlugin = {
  name: "RBACEscalation",
  enabled: "always",
  resources: ["roles", "clusterroles", "rolebindings", "clusterrolebindings"],
  create({ accessChecks }) {
    if (accessChecks === undefined) return {};
    const { rbacEscalation: check } = accessChecks;
    return {
      mutate: (attributes, reinvocation) =>
        reinvocation.willReinvoke ? undefined : check(attributes),
    };
  },
};
