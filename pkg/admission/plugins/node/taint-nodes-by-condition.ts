import { type Domain, resolve } from "#meta";
import type { AdmissionHandler } from "#registry";
import { isFor } from "../../objects.ts";

/** A new node takes no pods until the node controller has seen that it is ready. */
export function notReadyTaint(domain: Domain): AdmissionHandler {
  const key = resolve("node.{label}/not-ready", domain);
  const effect = "NoSchedule";
  return async (attributes) => {
    if (!isFor(attributes, "", "nodes") || attributes.operation !== "create") return [];
    const { spec } = attributes.object;
    const taints: readonly any[] = spec.taints ?? [];
    if (taints.some((taint) => taint.key === key && taint.effect === effect)) return [];
    spec.taints = [...taints, { key, effect }];
    return [];
  };
}
