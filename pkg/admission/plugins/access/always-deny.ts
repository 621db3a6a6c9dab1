import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Kubernetes' plugin that rejects every request. Not supported, since the server could not write its own
 * bootstrap objects.
 */
export const alwaysDeny: AdmissionPlugin = { name: "AlwaysDeny", enabled: "unsupported" };
