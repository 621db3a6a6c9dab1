/** plugins/namespace: the namespace of a request. */
export { namespaceAutoProvision } from "./namespace-auto-provision.ts";
export { namespaceExists } from "./namespace-exists.ts";
export { namespaceLifecycle } from "./namespace-lifecycle.ts";
