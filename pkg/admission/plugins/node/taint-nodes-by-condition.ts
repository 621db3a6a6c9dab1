import { resolve } from "#meta";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

const effect = "NoSchedule";

/** Adds the not-ready taint to new nodes; the node lifecycle controller removes it. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  enabled: "default",
  resources: ["nodes"],
  create({ domain }) {
    const key = resolve("node.{label}/not-ready", domain);
    return {
      mutate: (attributes) => {
        if (!isFor(attributes, "", "nodes") || attributes.operation !== "create") return undefined;
        const { spec } = attributes.object;
        const taints: readonly any[] = spec.taints ?? [];
        const isThere = taints.some((taint) => taint.key === key && taint.effect === effect);
        if (!isThere) spec.taints = [...taints, { key, effect }];
        return undefined;
      },
    };
  },
};
