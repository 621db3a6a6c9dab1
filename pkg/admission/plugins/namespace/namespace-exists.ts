import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Rejects requests in namespaces that do not exist. Without effect, since NamespaceLifecycle is always
 * enabled and does the same.
 */
export const namespaceExists: AdmissionPlugin = { name: "NamespaceExists", enabled: "optional" };
