/**
 * Objects that the server makes at start unless they are there: plain data, created through the
 * registry.
 */
import type { Kind } from "#meta";
import { namespace } from "./core/namespace.ts";
import { priorityClass, systemClasses } from "./scheduling/priority-class.ts";

interface BootstrapObject {
  readonly kind: Kind;
  /** In the form of the hub version, not yet defaulted. */
  readonly object: Readonly<Record<string, unknown>>;
}

const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** In the order in which they are made: namespaces first. */
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
