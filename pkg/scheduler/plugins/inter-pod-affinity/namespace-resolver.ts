import { printJson } from "#base";
import { type Labels, labelsOf, namespaceOf, namespaces, type Pod } from "#kinds";
import { everything, nothing } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";
import type { AffinityTerm } from "../../framework/pod-info.ts";

export interface AffinityArgs {
  /** Score weight of existing pods' required affinity terms. */
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

/** Resolves the namespace selectors of terms to current namespaces. */
export class NamespaceResolver {
  constructor(private readonly handle: PluginHandle) {
    handle.informers.of(namespaces);
  }

  resolved(terms: readonly AffinityTerm[]): readonly AffinityTerm[] {
    return terms.map((term) => {
      const { namespaceSelector } = term;
      if (namespaceSelector === nothing || namespaceSelector === everything) return term;
      const names = new Set(term.namespaces);
      for (const each of this.handle.informers.of(namespaces).all()) {
        if (namespaceSelector.matches(labelsOf(each))) names.add(each.metadata.name);
      }
      return { ...term, namespaces: names, namespaceSelector: nothing };
    });
  }

  /** Labels of the pod's namespace. */
  labelsOf(pod: Pod): Labels {
    const namespace = this.handle.informers.of(namespaces).get(namespaceOf(pod));
    return namespace === undefined ? {} : labelsOf(namespace);
  }
}

/**
 * Key; equal for pods with equivalent terms that other pods' terms match equally. `terms` must be resolved.
 */
export function matchingKey(
  pod: Pod,
  terms: readonly AffinityTerm[],
  namespaceLabels: Labels,
): string {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  const selected = terms.map(({ namespaces: names }) => [...names]);
  const affinity = [podAffinity, podAntiAffinity];
  return printJson([namespaceOf(pod), labelsOf(pod), namespaceLabels, affinity, selected]);
}
