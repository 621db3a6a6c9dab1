/** Quota scopes, which restrict the counted objects. */
import { selectorFromLabelSelector } from "#meta";
import { isBestEffort } from "./pods.ts";

/** A scope with the names that an object must or must not have, or `Exists`. */
export interface ScopeSelector {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** Whether the object is in every scope of the quota. */
export function inScopes(quota: any, plural: string, object: any): boolean {
  return scopesOf(quota).every((selector) => inScope(selector, plural, object));
}

/** Scopes of a quota; those in `spec.scopes` have the operator `Exists`. */
export function scopesOf({ spec }: any): readonly ScopeSelector[] {
  const withoutSelector = (spec?.scopes ?? []).map((scopeName: string) => ({
    scopeName,
    operator: "Exists",
  }));
  return [...withoutSelector, ...(spec?.scopeSelector?.matchExpressions ?? [])];
}

/** Whether the object is in the scope; kinds other than pods and claims are in none. */
export function inScope(selector: ScopeSelector, plural: string, object: any): boolean {
  if (plural === "persistentvolumeclaims") {
    if (selector.scopeName !== "VolumeAttributesClass") return false;
    return namesMatch(selector, attributesClassesOf(object));
  }
  if (plural !== "pods") return false;
  const { spec } = object;
  switch (selector.scopeName) {
    case "Terminating":
      return isTerminating(spec);
    case "NotTerminating":
      return !isTerminating(spec);
    case "BestEffort":
      return isBestEffort(object);
    case "NotBestEffort":
      return !isBestEffort(object);
    case "PriorityClass":
      return namesMatch(selector, spec.priorityClassName ? [spec.priorityClassName] : []);
    case "CrossNamespacePodAffinity":
      return crossesNamespaces(spec);
    default:
      return false;
  }
}

/** Scope Terminating: pods with a deadline. */
export function isTerminating({ activeDeadlineSeconds: seconds }: any): boolean {
  return seconds !== undefined && BigInt(seconds) >= 0n;
}

/** Matches the names as values of a label whose key is the name of the scope. */
function namesMatch(selector: ScopeSelector, names: readonly string[]): boolean {
  const { scopeName: key, operator, values } = selector;
  if (operator === "Exists") return names.length > 0;
  const labelSelector = selectorFromLabelSelector({
    matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values: [...values] }) }],
  });
  if (names.length === 0) return labelSelector.matches({});
  return names.some((name) => labelSelector.matches({ [key]: name }));
}

/** VolumeAttributesClasses in the claim's spec, current status and modification status. */
export function attributesClassesOf({ spec, status }: any): readonly string[] {
  return [
    spec.volumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
  ].filter((name: string | undefined) => name !== undefined && name !== "");
}

/** Scope CrossNamespacePodAffinity: pod affinity terms that select other namespaces. */
function crossesNamespaces({ affinity }: any): boolean {
  const affinities = [affinity?.podAffinity, affinity?.podAntiAffinity];
  const terms = affinities.flatMap((each: any) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }: any) => podAffinityTerm,
    ),
  ]);
  return terms.some(
    (term: any) => (term?.namespaces ?? []).length > 0 || term?.namespaceSelector !== undefined,
  );
}
