import { type Labels, labelsOf, namespaceOf, namespaces, type Pod } from "#kinds";
import { everything, nothing } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";
import type { AffinityTerm } from "../../framework/pod-info.ts";

export interface AffinityArgs {
  /** Weight of required affinity of other pods in scores. */
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

/** Replaces namespace selectors of terms by the namespaces that they select now. */
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
 * Equal for pods whose terms match the same pods and that the terms of other pods match alike. The
 * terms are those that `resolved` answers.
 */
export function matchingKey(
  pod: Pod,
  terms: readonly AffinityTerm[],
  namespaceLabels: Labels,
): string {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  const selected = terms.map(({ namespaces: names }) => [...names]);
  const affinity = [podAffinity, podAntiAffinity];
  return JSON.stringify([namespaceOf(pod), labelsOf(pod), namespaceLabels, affinity, selected]);
}
