import type { ClaimSpec } from "./claim-structs.ts";

/** Default allocation mode ExactCount with a count of 1. */
export function fillClaimDefaults({ devices }: ClaimSpec): void {
  const exactRequests = (devices.requests ?? []).flatMap(({ exactly, firstAvailable = [] }) =>
    exactly === undefined ? firstAvailable : [exactly, ...firstAvailable],
  );
  for (const each of exactRequests) {
    if (!each.allocationMode) each.allocationMode = "ExactCount";
    if (each.allocationMode === "ExactCount" && !each.count) each.count = 1;
  }
}
