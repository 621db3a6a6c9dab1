import type { Domain } from "#meta";
import type { AdmissionPlugin } from "../../plugin.ts";
import { containersOf } from "../containers.ts";

/**
 * A pod that requests extended resources (devices) tolerates taints whose key is the resource name,
 * which keep other pods off the nodes that have the devices.
 */
export const extendedResourceToleration: AdmissionPlugin = {
  name: "ExtendedResourceToleration",
  enabled: "optional",
  resources: ["pods"],
  create: ({ domain }) => ({
    mutate: ({ object: pod, operation, request }) => {
      const isPod = request.resource.keyPrefix === "/pods/" && request.subresource === "";
      if (!isPod || operation === "delete") return undefined;
      const requested = containersOf(pod).flatMap(({ resources }) =>
        Object.keys(resources?.requests ?? {}),
      );
      const devices = [...new Set(requested)].filter((name) => isExtended(name, domain)).sort();
      for (const key of devices) {
        const tolerations: readonly any[] = pod.spec.tolerations ?? [];
        const isThere = tolerations.some(
          (each) => each.key === key && each.operator === "Exists" && !each.effect && !each.value,
        );
        if (!isThere) pod.spec.tolerations = [...tolerations, { key, operator: "Exists" }];
      }
      return undefined;
    },
  }),
};

/** Extended resource names have a domain other than Kubernetes' own. */
function isExtended(name: string, { label }: Domain): boolean {
  const slash = name.indexOf("/");
  if (slash < 0 || name.startsWith("requests.")) return false;
  const owner = name.slice(0, slash);
  return owner !== label && !owner.endsWith(`.${label}`);
}
