/** Whether each taint of one of these effects is tolerated. */
export function toleratesTaints(
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
  effects: readonly string[],
): boolean {
  return taints
    .filter(({ effect }) => effects.includes(effect))
    .every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = "", operator = "Equal", value = "", effect = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || (operator === "Equal" && value === (taint.value ?? ""));
}
import type { Taint, Toleration } from "#kinds";
