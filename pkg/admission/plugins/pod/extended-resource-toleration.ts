import { isExtendedName } from "#api";
import type { AdmissionPlugin } from "../../plugin.ts";
import type { Toleration } from "./tolerations.ts";

/**
 * Adds tolerations of taints whose key is an extended resource that the pod requests. Such taints reserve
 * nodes with the device.
 */
export const extendedResourceToleration: AdmissionPlugin = {
  name: "ExtendedResourceToleration",
  enabled: "optional",
  resources: ["pods"],
  create: () => ({
    mutate: ({ object: pod, operation, request }) => {
      const isPod = request.resource.keyPrefix === "/pods/" && request.subresource === "";
      if (!isPod || operation === "delete") return undefined;
      for (const key of extendedResourcesOf(pod.spec)) {
        const own: readonly Toleration[] = pod.spec.tolerations ?? [];
        const wanted = { key, operator: "Exists", effect: "NoSchedule" };
        const index = own.findIndex((each) => isSameMatch(each, wanted));
        pod.spec.tolerations = index < 0 ? [...own, wanted] : own.with(index, wanted);
      }
      return undefined;
    },
  }),
};

/** Sorted names of extended resources requested by containers and init containers. */
function extendedResourcesOf({ containers = [], initContainers = [] }: any): readonly string[] {
  const names: readonly string[] = [...containers, ...initContainers].flatMap(({ resources }) =>
    Object.keys(resources?.requests ?? {}),
  );
  return [...new Set(names)].filter(isExtendedName).sort();
}

/** Whether two tolerations are equal, ignoring tolerationSeconds. */
function isSameMatch(left: Toleration, right: Toleration): boolean {
  const fields = ["key", "operator", "value", "effect"] as const;
  return fields.every((field) => (left[field] ?? "") === (right[field] ?? ""));
}
