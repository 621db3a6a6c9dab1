/** Bootstrap objects: created through the registry at start if they are absent. */
import type { Kind } from "#meta";
import { namespace } from "./core/namespace.ts";
import { priorityClass, systemClasses } from "./scheduling/priority-class.ts";

interface BootstrapObject {
  readonly kind: Kind;
  /** Object in the hub version, before defaulting. */
  readonly object: Readonly<Record<string, unknown>>;
}

const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Ordered by dependency: namespaces first. */
export const bootstrapObjects: readonly BootstrapObject[] = [
  ...systemNamespaces.map((name) => ({
    kind: namespace,
    object: { metadata: { name }, spec: {}, status: {} },
  })),
  ...systemClasses.map(({ name, value, description }) => ({
    kind: priorityClass,
    object: { metadata: { name }, value, description },
  })),
];
