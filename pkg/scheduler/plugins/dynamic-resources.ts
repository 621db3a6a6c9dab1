import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { errorStatus, unresolvable, unschedulable } from "../framework/status.ts";

const name = "DynamicResources";

/**
 * Keeps pods with resource claims pending: devices are not allocated yet. Pods without claims are
 * not concerned.
 */
export function dynamicResources(): Plugin {
  return {
    name,
    preFilter: ({ pod, state }) => {
      state.write(name, {});
      const claims = pod.spec?.resourceClaims ?? [];
      if (claims.length === 0) return undefined;
      const reason = "resource claims are not supported by this scheduler";
      return { status: unresolvable(name, reason) };
    },
    // The reference reports its missing state when an earlier plugin has rejected the pod.
    postFilter: ({ state }) => ({
      status:
        state.read(name) === undefined
          ? errorStatus(name, new Error("not found"))
          : unschedulable(name, "no new claims to deallocate"),
    }),
    events: [
      { resource: "Pod", action: actions.podGeneratedResourceClaim },
      { resource: "ResourceClaim", action: actions.add | actions.update },
    ],
  };
}
