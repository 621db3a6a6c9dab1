import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Kubernetes' plugin that refuses every request. Not supported: the server could not write its own
 * bootstrap objects.
 */
export const alwaysDeny: AdmissionPlugin = { name: "AlwaysDeny", enabled: "unsupported" };
