import type { DeviceTaint, DeviceToleration } from "#kinds";

/**
 * Whether the toleration tolerates the taint. An absent effect or key matches every one; the operator
 * is Equal by default.
 */
export function toleratesTaint(toleration: DeviceToleration, taint: DeviceTaint): boolean {
  const { effect = "", key = "", operator = "Equal", value = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "Equal" || operator === "") && value === (taint.value ?? "");
}
