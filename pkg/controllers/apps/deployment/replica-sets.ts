import { deepEqual } from "#base";
import type { PodTemplateSpec, ReplicaSet } from "#kinds";
import type { LabelSelector } from "#meta";

/** How the ReplicaSets of a Deployment are named, labeled, compared and sorted. */

const hashLabel = "pod-template-hash";
const longestName = 253;

export function setName(deployment: string, hash: string): string {
  return `${deployment.slice(0, longestName - 1 - hash.length)}-${hash}`;
}

/** The template with the hash as a label. */
export function setTemplate(template: PodTemplateSpec, hash: string): PodTemplateSpec {
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** The template of a ReplicaSet as its Deployment had it. */
export function deploymentTemplate(template: PodTemplateSpec): PodTemplateSpec {
  return { ...template, metadata: { ...template.metadata, labels: withoutHash(template) } };
}

export function setSelector(selector: LabelSelector, hash: string): LabelSelector {
  return { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } };
}

/** Whether two templates are equal but for the hash in their labels. */
export function isSameTemplate(left: PodTemplateSpec, right: PodTemplateSpec): boolean {
  return (
    deepEqual(left.spec, right.spec) &&
    deepEqual(withoutHash(left), withoutHash(right)) &&
    deepEqual({ ...left.metadata, labels: {} }, { ...right.metadata, labels: {} })
  );
}

function withoutHash({ metadata }: PodTemplateSpec): Readonly<Record<string, string>> {
  const { [hashLabel]: _hash, ...labels } = metadata?.labels ?? {};
  return labels;
}

/** Older first, then by name. */
export function byCreation(
  { metadata: left }: ReplicaSet,
  { metadata: right }: ReplicaSet,
): number {
  return (
    Date.parse(left.creationTimestamp ?? "") - Date.parse(right.creationTimestamp ?? "") ||
    (left.name < right.name ? -1 : 1)
  );
}

/** Larger first; of equal ones the newer first, or the older. */
export function bySize(of: "newer" | "older") {
  return (left: ReplicaSet, right: ReplicaSet): number =>
    right.spec.replicas - left.spec.replicas ||
    (of === "older" ? byCreation(left, right) : byCreation(right, left));
}

export function isActiveSet({ spec }: ReplicaSet): boolean {
  return spec.replicas > 0;
}
