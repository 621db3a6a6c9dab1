import type { DeviceTaint } from "./shared-structs.ts";

/** Sets `timeAdded` of taints that lack it. */
export function stampTaint(taint: DeviceTaint, { now }: { readonly now: number }): void {
  taint.timeAdded ??= new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}
