/** Taints of nodes and devices, and the tolerations of pods and device requests. */
import type { Toleration } from "./affinity.ts";
import type { Node, Taint } from "./node.ts";
import type { Pod } from "./pod.ts";

const noTolerations: readonly Toleration[] = [];

/**
 * Whether the toleration tolerates the taint. An absent effect or key matches every one; the
 * operator is Equal by default.
 */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  const { effect = "", key = "", operator = "", value = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && value === (taint.value ?? "");
}

/** Whether one of the tolerations tolerates the taint. */
export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some((toleration) => toleratesTaint(toleration, taint));
}

/** The first taint that keeps the pod off the node, if any. */
export function untoleratedTaint({ spec }: Pod, node: Node): Taint | undefined {
  const taints = node.spec?.taints;
  if (taints === undefined || taints.length === 0) return undefined;
  const tolerations = spec?.tolerations ?? noTolerations;
  return taints.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      !isTolerated(taint, tolerations),
  );
}
