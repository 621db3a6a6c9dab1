/** plugins/namespace: checks and creation of the request's namespace. */
export { namespaceAutoProvision } from "./namespace-auto-provision.ts";
export { namespaceExists } from "./namespace-exists.ts";
export { namespaceLifecycle } from "./namespace-lifecycle.ts";
