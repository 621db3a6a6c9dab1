import { deepEqual } from "#base";
import type { PodTemplateSpec, ReplicaSet } from "#kinds";
import type { LabelSelector } from "#meta";

/** Names, labels, comparison and order of the ReplicaSets of a Deployment. */

const hashLabel = "pod-template-hash";
const maxNameLength = 253;

export function setName(deployment: string, hash: string): string {
  return `${deployment.slice(0, maxNameLength - 1 - hash.length)}-${hash}`;
}

/** Adds the label `pod-template-hash` to a template. */
export function setTemplate(template: PodTemplateSpec, hash: string): PodTemplateSpec {
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** Template of a ReplicaSet without the label `pod-template-hash`. */
export function deploymentTemplate(template: PodTemplateSpec): PodTemplateSpec {
  return { ...template, metadata: { ...template.metadata, labels: withoutHash(template) } };
}

export function setSelector(selector: LabelSelector, hash: string): LabelSelector {
  return { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } };
}

/** Whether two templates are equal, except for the label `pod-template-hash`. */
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

/** Order: larger ReplicaSets first; equal sizes newer or older first, as `of` says. */
export function bySize(of: "newer" | "older") {
  return (left: ReplicaSet, right: ReplicaSet): number =>
    right.spec.replicas - left.spec.replicas ||
    (of === "older" ? byCreation(left, right) : byCreation(right, left));
}

export function isActiveSet({ spec }: ReplicaSet): boolean {
  return spec.replicas > 0;
}
