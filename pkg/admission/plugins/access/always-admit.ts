import type { AdmissionPlugin } from "../../plugin.ts";

/** Admits every request. Deprecated in Kubernetes; without effect. */
export const alwaysAdmit: AdmissionPlugin = { name: "AlwaysAdmit", enabled: "optional" };
