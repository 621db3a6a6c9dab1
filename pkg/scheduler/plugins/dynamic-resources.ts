import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { unresolvable, unschedulable } from "../framework/status.ts";

const name = "DynamicResources";

/**
 * Keeps pods with resource claims pending: devices are not allocated yet. Pods without claims are
 * not concerned.
 */
export function dynamicResources(): Plugin {
  return {
    name,
    preFilter: ({ pod }) =>
      (pod.spec?.resourceClaims?.length ?? 0) === 0
        ? undefined
        : { status: unresolvable(name, "resource claims are not supported by this scheduler") },
    postFilter: () => ({ status: unschedulable(name, "no new claims to deallocate") }),
    events: [
      { resource: "Pod", action: actions.podGeneratedResourceClaim },
      { resource: "ResourceClaim", action: actions.add | actions.update },
    ],
  };
}
