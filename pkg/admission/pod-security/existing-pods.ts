import { type Standard, standardText } from "./policy.ts";
import { type ViolationOptions, violations } from "./violations.ts";

/** Maximum number of pods evaluated when the level changes (source: Kubernetes). */
const maxPods = 3000;

interface NewStandard extends ViolationOptions {
  readonly standard: Standard;
}

/** Warnings about existing pods of a namespace that violate its new standard. */
export function existingPods(
  namespace: string,
  pods: readonly any[],
  options: NewStandard,
): readonly string[] {
  const { standard } = options;
  const byReason = new Map<string, string[]>();
  for (const pod of prioritized(pods).slice(0, maxPods)) {
    const found = violations(pod, standard, options);
    if (found.length === 0) continue;
    const reasons = found.map(({ reason }) => reason).join(", ");
    byReason.set(reasons, [...(byReason.get(reasons) ?? []), pod.metadata.name]);
  }
  const checked = `only checked against the first ${maxPods} of ${pods.length} existing pods`;
  const level = JSON.stringify(standardText(standard));
  const where = `existing pods in namespace ${JSON.stringify(namespace)}`;
  const lines = Array.from(byReason, ([reasons, names]) => `${podsText(names)}: ${reasons}`);
  return [
    ...(pods.length > maxPods ? [`new PodSecurity enforce level ${checked}`] : []),
    ...(lines.length > 0 ? [`${where} violate the new PodSecurity enforce level ${level}`] : []),
    ...lines.sort(),
  ];
}

/** Sorts one pod per controller first, since the others are likely equal. */
function prioritized(pods: readonly any[]): readonly any[] {
  const controllers = new Set<string>();
  const [first, others]: [any[], any[]] = [[], []];
  for (const pod of pods) {
    const owners: readonly any[] = pod.metadata.ownerReferences ?? [];
    const uid = owners.find(({ controller }) => controller === true)?.uid;
    const isRepeated = uid !== undefined && controllers.has(uid);
    (isRepeated ? others : first).push(pod);
    if (uid !== undefined) controllers.add(uid);
  }
  return [...first, ...others];
}

function podsText(names: readonly string[]): string {
  const [first = ""] = [...names].sort();
  const count = names.length - 1;
  if (count === 0) return first;
  return `${first} (and ${count} other ${count === 1 ? "pod" : "pods"})`;
}
