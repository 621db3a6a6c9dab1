import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Refuses writes in a namespace that does not exist, creations in one that is terminating, and the
 * deletion of `default`, `kube-system` and `kube-public`. The handler is the registry's
 * (pkg/registry/admission/namespace-lifecycle.ts): it answers from the namespace cache, which the
 * registry invalidates with each write of a namespace, without a promise where the namespace is
 * cached; and a DELETE calls it a first time before the object is read, so that an unreadable
 * `kube-system` is protected as well.
 */
export const namespaceLifecycle: AdmissionPlugin = {
  name: "NamespaceLifecycle",
  enabled: "default",
  create: ({ registry }) => ({
    mutate: (attributes) => registry().namespaceLifecycle(attributes),
  }),
};
