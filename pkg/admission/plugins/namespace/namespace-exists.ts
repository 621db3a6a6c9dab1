import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Refuses requests in namespaces that do not exist. NamespaceLifecycle, which is always on, does
 * that already, so this plugin has nothing left to do.
 */
export const namespaceExists: AdmissionPlugin = { name: "NamespaceExists", enabled: "optional" };
