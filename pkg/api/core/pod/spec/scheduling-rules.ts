/** Validation of scheduling constraints. */
import type { Path, Problems } from "#schema";
import { isDns1123Label, isQualifiedName } from "#meta";
import { checkLabelSelector } from "../../../label-selector.ts";
import { invalidEach } from "../../../strategy.ts";
import { checkNodeSelector, checkNodeSelectorTerm } from "./node-selector-rules.ts";
import type { PodSpec } from "./pod-spec.ts";

type Affinity = NonNullable<PodSpec["affinity"]>;
type PodAffinity = NonNullable<Affinity["podAffinity"]>;
type Term = NonNullable<PodAffinity["requiredDuringSchedulingIgnoredDuringExecution"]>[number];
type Spread = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

export function checkAffinity(
  { nodeAffinity, podAffinity, podAntiAffinity }: Affinity,
  path: Path,
  problems: Problems,
): void {
  if (nodeAffinity !== undefined) {
    const nodeAffinityPath = path.child("nodeAffinity");
    const required = nodeAffinity[requiredTerms];
    if (required !== undefined)
      checkNodeSelector(required, nodeAffinityPath.child(requiredTerms), { problems });
    for (const [index, { weight, preference }] of (nodeAffinity[preferredTerms] ?? []).entries()) {
      const preferredPath = nodeAffinityPath.child(preferredTerms).index(index);
      checkWeight(weight, preferredPath, problems);
      const options = { anyValue: true, problems };
      checkNodeSelectorTerm(preference, preferredPath.child("preference"), options);
    }
  }
  if (podAffinity) checkPodAffinity(podAffinity, path.child("podAffinity"), problems);
  if (podAntiAffinity) checkPodAffinity(podAntiAffinity, path.child("podAntiAffinity"), problems);
}

function checkWeight(weight: number, path: Path, problems: Problems): void {
  if (weight >= 1 && weight <= 100) return;
  problems.invalid(path.child("weight"), weight, "must be in the range 1-100");
}

function checkPodAffinity(affinity: PodAffinity, path: Path, problems: Problems): void {
  for (const [index, term] of (affinity[requiredTerms] ?? []).entries()) {
    checkTerm(term, path.child(requiredTerms).index(index), problems);
  }
  for (const [index, { weight, podAffinityTerm }] of (affinity[preferredTerms] ?? []).entries()) {
    const itemPath = path.child(preferredTerms).index(index);
    checkWeight(weight, itemPath, problems);
    checkTerm(podAffinityTerm, itemPath.child("podAffinityTerm"), problems);
  }
}

function checkTerm(term: Term, path: Path, problems: Problems): void {
  const { labelSelector, namespaceSelector, namespaces, topologyKey } = term;
  checkLabelSelector(labelSelector, path.child("labelSelector"), problems);
  checkLabelSelector(namespaceSelector, path.child("namespaceSelector"), problems);
  for (const name of namespaces ?? []) {
    const messages = isDns1123Label(name);
    invalidEach(problems, path.child("namespace"), { value: name, messages });
  }
  checkBothKeys(term, path, problems);
  const topologyKeyPath = path.child("topologyKey");
  if (topologyKey === "") problems.required(topologyKeyPath, "can not be empty");
  const messages = isQualifiedName(topologyKey);
  invalidEach(problems, topologyKeyPath, { value: topologyKey, messages });
}

function checkBothKeys(term: Term, path: Path, problems: Problems): void {
  const { matchLabelKeys: same = [], mismatchLabelKeys: other = [], labelSelector } = term;
  const hasSelector = labelSelector !== undefined;
  checkLabelKeys(same, path.child("matchLabelKeys"), { hasSelector, problems });
  checkLabelKeys(other, path.child("mismatchLabelKeys"), { hasSelector, problems });
  const others = new Set(other);
  for (const [index, key] of same.entries()) {
    if (!others.has(key)) continue;
    const detail = "exists in both matchLabelKeys and mismatchLabelKeys";
    problems.invalid(path.child("matchLabelKeys").index(index), key, detail);
  }
}

function checkLabelKeys(
  keys: readonly string[],
  path: Path,
  { hasSelector, problems }: { readonly hasSelector: boolean; readonly problems: Problems },
): void {
  if (keys.length === 0) return;
  if (!hasSelector) {
    return problems.forbidden(path, "must not be specified when labelSelector is not set");
  }
  for (const [index, key] of keys.entries()) {
    invalidEach(problems, path.index(index), { value: key, messages: isQualifiedName(key) });
  }
}

export function checkSpread(constraints: readonly Spread[], path: Path, problems: Problems): void {
  const pairOf = ({ topologyKey, whenUnsatisfiable }: Spread) =>
    JSON.stringify([topologyKey, whenUnsatisfiable]);
  const last = new Map(constraints.map((constraint, index) => [pairOf(constraint), index]));
  for (const [index, constraint] of constraints.entries()) {
    const itemPath = path.index(index);
    const { topologyKey, whenUnsatisfiable: action } = constraint;
    checkConstraint(constraint, itemPath, problems);
    if (last.get(pairOf(constraint)) !== index) {
      problems.duplicate(
        itemPath.child("{topologyKey, whenUnsatisfiable}"),
        `{${topologyKey}, ${action}}`,
      );
    }
    checkRest(constraint, itemPath, problems);
  }
}

function checkConstraint(constraint: Spread, path: Path, problems: Problems): void {
  const { maxSkew, topologyKey, whenUnsatisfiable: action } = constraint;
  if (maxSkew <= 0) problems.invalid(path.child("maxSkew"), maxSkew, "must be greater than zero");
  if (topologyKey === "") problems.required(path.child("topologyKey"), "can not be empty");
  const actions = ["DoNotSchedule", "ScheduleAnyway"];
  if (actions.includes(action)) return;
  problems.notSupported(path.child("whenUnsatisfiable"), action, actions);
}

function checkRest(constraint: Spread, path: Path, problems: Problems): void {
  const { minDomains, whenUnsatisfiable: action, labelSelector, matchLabelKeys = [] } = constraint;
  const minDomainsPath = path.child("minDomains");
  if (minDomains !== undefined) {
    if (minDomains <= 0) problems.invalid(minDomainsPath, minDomains, "must be greater than zero");
    if (action !== "DoNotSchedule") {
      const needed = "whenUnsatisfiable=DoNotSchedule";
      problems.invalid(
        minDomainsPath,
        minDomains,
        `can only use minDomains if ${needed}, not ${action}`,
      );
    }
  }
  const policies = ["Honor", "Ignore"];
  for (const field of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const) {
    const policy = constraint[field];
    if (policy === undefined || policies.includes(policy)) continue;
    problems.notSupported(path.child(field), policy, policies);
  }
  const hasSelector = labelSelector !== undefined;
  checkLabelKeys(matchLabelKeys, path.child("matchLabelKeys"), { hasSelector, problems });
  checkLabelSelector(labelSelector, path.child("labelSelector"), problems);
}

/** Gate names must be qualified and unique. */
export function checkSchedulingGates(
  gates: PodSpec["schedulingGates"],
  path: Path,
  problems: Problems,
): void {
  const seen = new Set<string>();
  for (const [index, { name }] of (gates ?? []).entries()) {
    const itemPath = path.index(index);
    invalidEach(problems, itemPath, { value: name, messages: isQualifiedName(name) });
    if (seen.has(name)) problems.duplicate(itemPath, name);
    seen.add(name);
  }
}
