/** Labels that a kubelet may set on its Node. */
import { type Domain, resolve } from "#meta";

/** Labels in Kubernetes' domains that kubelets may set (source: Kubernetes' `IsKubeletLabel`). */
const ownLabels = [
  "{label}/hostname",
  "{label}/arch",
  "{label}/os",
  "beta.{label}/arch",
  "beta.{label}/os",
  "beta.{label}/instance-type",
  "node.{label}/instance-type",
  "failure-domain.beta.{label}/region",
  "failure-domain.beta.{label}/zone",
  "topology.{label}/region",
  "topology.{label}/zone",
];
const ownPrefixes = ["kubelet.{label}", "node.{label}"];

interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}

/** Sorted keys of labels that differ. */
export function changedLabels(object: Labelled, old: Labelled | undefined): readonly string[] {
  const now = new Map(Object.entries(object.metadata.labels ?? {}));
  const before = new Map(Object.entries(old?.metadata.labels ?? {}));
  const keys = new Set([...now.keys(), ...before.keys()]);
  return [...keys].filter((key) => now.get(key) !== before.get(key)).sort();
}

/**
 * Label keys that a kubelet must not set, since a compromised node could attract workloads with them.
 */
export function forbiddenNodeLabels(keys: readonly string[], domain: Domain): readonly string[] {
  const own = ownLabels.map((label) => resolve(label, domain));
  const prefixes = ownPrefixes.map((prefix) => resolve(prefix, domain));
  return keys.filter((key) => {
    const slash = key.indexOf("/");
    const prefix = slash < 0 ? "" : key.slice(0, slash);
    if (isBelow(prefix, resolve("node-restriction.{label}", domain))) return true;
    if (!isBelow(prefix, domain.label) && !isBelow(prefix, domain.api)) return false;
    return !own.includes(key) && !prefixes.some((allowed) => isBelow(prefix, allowed));
  });
}

function isBelow(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
