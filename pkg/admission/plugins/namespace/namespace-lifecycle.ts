import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Rejects writes in a namespace that does not exist, creates in a terminating one, and the deletion of
 * `default`, `kube-system` and `kube-public`. The handler is the registry's
 * (pkg/registry/admission/namespace-lifecycle.ts): it uses the namespace cache, which the registry
 * invalidates on each namespace write, and returns no promise if the namespace is cached. A DELETE also
 * calls it before the object is read, so that an unreadable `kube-system` is protected, too.
 */
export const namespaceLifecycle: AdmissionPlugin = {
  name: "NamespaceLifecycle",
  enabled: "default",
  create: ({ registry }) => ({
    mutate: (attributes) => registry().namespaceLifecycle(attributes),
  }),
};
