/** Preparation of pods before validation. */
import { formatSeconds, type HookContext } from "#meta";
import { deepClone, deepEqual } from "#base";
import { entry } from "../../strategy.ts";
import { annotationKeys } from "./spec/pod-annotations.ts";
import { allContainers } from "./spec/pod-containers.ts";
import { roundAmounts } from "../shared/resource-amounts.ts";
import {
  containerStatusesOf,
  dropGatedPodFields,
  dropGatedStatusFields,
} from "./spec/pod-gates.ts";
import { qualityClassOf } from "./qos-class.ts";
import type { Pod } from "./pod-types.ts";
import type { Container } from "./container/containers.ts";

type Selector = NonNullable<
  NonNullable<NonNullable<Pod["spec"]["topologySpreadConstraints"]>[number]["labelSelector"]>
>;

export function prepareNewPod(pod: Pod, context: HookContext): void {
  const { spec } = pod;
  // A QoS class from the client is kept, as in Kubernetes.
  const qosClass = pod.status.qosClass || qualityClassOf(spec);
  pod.status = { phase: "Pending", qosClass };
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  dropGatedPodFields(spec, undefined, context.gate);
  setSchedulingGated(pod, context.now);
  selectByOwnLabels(pod, context);
  applyAppArmorAnnotations(pod, context);
}

/** Sets the condition PodScheduled to SchedulingGated for a pod with scheduling gates. */
function setSchedulingGated({ spec, status }: Pod, now: number): void {
  if (spec.schedulingGates === undefined || spec.schedulingGates.length === 0) return;
  const seconds = Math.floor(now / 1000);
  status.conditions = [
    {
      type: "PodScheduled",
      status: "False",
      lastProbeTime: null,
      lastTransitionTime: formatSeconds({ seconds, nanos: 0 }),
      reason: "SchedulingGated",
      message: "Scheduling is blocked due to non-empty scheduling gates",
    },
  ];
}

/** Adds matchLabelKeys as requirements on the pod's own label values to label selectors. */
function selectByOwnLabels({ metadata, spec }: Pod, { gate }: HookContext): void {
  const require = (
    selector: Selector | undefined,
    keys: readonly string[] | undefined,
    operator: "In" | "NotIn",
  ) => {
    if (selector === undefined) return;
    for (const key of keys ?? []) {
      const value = entry(metadata.labels, key);
      if (value === undefined) continue;
      selector.matchExpressions = [
        ...(selector.matchExpressions ?? []),
        { key, operator, values: [value] },
      ];
    }
  };
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  for (const affinity of [podAffinity, podAntiAffinity]) {
    const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const term of [...required, ...preferred.map(({ podAffinityTerm }) => podAffinityTerm)]) {
      require(term.labelSelector, term.matchLabelKeys, "In");
      require(term.labelSelector, term.mismatchLabelKeys, "NotIn");
    }
  }
  const mergesSpread = gate("MatchLabelKeysInPodTopologySpreadSelectorMerge");
  for (const constraint of mergesSpread ? (spec.topologySpreadConstraints ?? []) : []) {
    require(constraint.labelSelector, constraint.matchLabelKeys, "In");
  }
}

type AppArmorProfile = NonNullable<NonNullable<Container["securityContext"]>["appArmorProfile"]>;

/** AppArmor profile of an annotation such as `localhost/x`; undefined if it is invalid. */
function profileOfAnnotation(text: string): AppArmorProfile | undefined {
  if (text === "unconfined") return { type: "Unconfined" };
  if (text === "runtime/default") return { type: "RuntimeDefault" };
  if (!text.startsWith("localhost/")) return undefined;
  const localhostProfile = text.slice("localhost/".length);
  const isSound = localhostProfile !== "" && localhostProfile.trim() === localhostProfile;
  return isSound ? { type: "Localhost", localhostProfile } : undefined;
}

/**
 * Copies deprecated AppArmor annotations to containers without a profile, unless the pod has the
 * same profile. Fields are never copied to annotations (since Kubernetes 1.34).
 */
function applyAppArmorAnnotations(pod: Pod, { domain }: HookContext): void {
  const { spec, metadata } = pod;
  if (spec.os?.name === "windows") return;
  const { appArmor } = annotationKeys(domain);
  const ofPod = spec.securityContext?.appArmorProfile;
  for (const container of allContainers(spec)) {
    const annotation = entry(metadata.annotations, appArmor + container.name);
    if (annotation === undefined || container.securityContext?.appArmorProfile) continue;
    const profile = profileOfAnnotation(annotation);
    if (profile === undefined || deepEqual(ofPod ?? undefined, profile)) continue;
    container.securityContext = { ...container.securityContext, appArmorProfile: profile };
  }
}

/** Rounds amounts in the status to milli-units, as in the spec. */
export function roundStatusAmounts(status: Pod["status"]): void {
  for (const { allocatedResources, resources } of containerStatusesOf(status)) {
    roundAmounts(allocatedResources);
    roundAmounts(resources?.limits);
    roundAmounts(resources?.requests);
  }
}

export function preparePodUpdate(pod: Pod, old: Pod, context: HookContext): void {
  switch (context.subresource) {
    case "":
      pod.status = old.status;
      dropGatedPodFields(pod.spec, old.spec, context.gate);
      return;
    case "status":
      dropGatedStatusFields(pod.status, old.status, context.gate);
      return prepareStatus(pod, old);
    case "ephemeralcontainers":
      keepMetadata(pod, old);
      pod.status = old.status;
      pod.spec = withEphemeral(old, pod.spec.ephemeralContainers);
      dropGatedPodFields(pod.spec, old.spec, context.gate);
      return;
    case "resize":
      return prepareResize(pod, old);
    default:
      return;
  }
}

function withEphemeral({ spec }: Pod, containers: Pod["spec"]["ephemeralContainers"]) {
  const restored = deepClone(spec);
  if (containers === undefined) delete restored.ephemeralContainers;
  else restored.ephemeralContainers = containers;
  return restored;
}

function prepareStatus(pod: Pod, old: Pod): void {
  pod.spec = old.spec;
  if (old.metadata.ownerReferences === undefined) delete pod.metadata.ownerReferences;
  else pod.metadata.ownerReferences = old.metadata.ownerReferences;
  // Older kubelets omit the class, which never changes.
  const { qosClass } = old.status;
  if (!pod.status.qosClass && qosClass !== undefined) pod.status.qosClass = qosClass;
  keepObservedGenerations(pod.status, old.status);
}

/** Preserves observed generations in updates of clients that do not support the field. */
function keepObservedGenerations(status: Pod["status"], old: Pod["status"]): void {
  if (!status.observedGeneration && old.observedGeneration) {
    status.observedGeneration = old.observedGeneration;
  }
  // Condition types may repeat: the n-th new condition of a type is matched with the n-th old one.
  const left = [...(old.conditions ?? [])];
  for (const condition of status.conditions ?? []) {
    const index = left.findIndex(({ type }) => type === condition.type);
    if (index < 0) continue;
    const [{ observedGeneration } = {}] = left.splice(index, 1);
    if (!condition.observedGeneration && observedGeneration) {
      condition.observedGeneration = observedGeneration;
    }
  }
}

const ownMetadata = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

/** Restores the metadata, which these subresources cannot change. */
function keepMetadata(pod: Pod, old: Pod): void {
  const metadata: Record<string, unknown> = pod.metadata;
  for (const field of ownMetadata) {
    if (old.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = old.metadata[field];
  }
}

/** Restores all fields except container resources; validation reports unknown containers. */
function prepareResize(pod: Pod, old: Pod): void {
  keepMetadata(pod, old);
  pod.status = old.status;
  const requested = pod.spec;
  pod.spec = deepClone(old.spec);
  for (const field of ["containers", "initContainers"] as const) {
    const known = new Map((old.spec[field] ?? []).map((each) => [each.name, each]));
    const containers = (requested[field] ?? []).map((container) => {
      const before = known.get(container.name);
      if (before === undefined) return container;
      const { resources, resizePolicy } = container;
      const { resizePolicy: _, ...kept } = deepClone(before);
      return { ...kept, resources, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
    });
    if (old.spec[field] === undefined && containers.length === 0) continue;
    pod.spec[field] = containers;
  }
}
