/** Which tolerations of a pod match the NoExecute taints of its node, and for how long. */

export function isTolerating(toleration: Toleration, taint: Taint): boolean {
  const { effect = "", key = "", operator = "Equal", value = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || value === (taint.value ?? "");
}

/**
 * Time in ms for which a pod tolerates all the taints: 0 = not all are tolerated, Infinity = for
 * ever. Of each taint, the first matching toleration counts.
 */
export function toleratedMs(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  let shortest = Infinity;
  for (const taint of taints) {
    const match = tolerations.find((toleration) => isTolerating(toleration, taint));
    if (match === undefined) return 0;
    const { tolerationSeconds } = match;
    if (tolerationSeconds === undefined) continue;
    shortest = Math.min(shortest, Math.max(0, Number(tolerationSeconds) * 1000));
  }
  return shortest;
}
import type { Taint, Toleration } from "#kinds";
