const noTolerations: readonly Toleration[] = [];

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

export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}

function tolerates({ key = "", operator = "", value = "", effect = "" }: Toleration, taint: Taint) {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || (isEqual(operator) && value === (taint.value ?? ""));
}

function isEqual(operator: string): boolean {
  return operator === "" || operator === "Equal";
}
import type { Node, Pod, Taint, Toleration } from "#kinds";
