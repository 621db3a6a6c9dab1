import type { DeviceTaint } from "./shared-structs.ts";

/** Says when a taint was added, unless it says so itself. */
export function stampTaint(taint: DeviceTaint, { now }: { readonly now: number }): void {
  taint.timeAdded ??= new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}
