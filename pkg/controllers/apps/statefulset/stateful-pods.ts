import type { Draft } from "#client";
import { type Pod, type StatefulSet, statefulSets, type Volume } from "#kinds";
import { type Domain, resolve } from "#meta";
import { podFromTemplate } from "../../pods/pod-control.ts";
import { isAvailable, isReady } from "../../pods/pod-state.ts";
import { claimName } from "./claims.ts";

/** Identity of a StatefulSet's pods: name, ordinal, labels, volumes. */

const maxOrdinal = 2 ** 31 - 1;
const revisionLabel = "controller-revision-hash";

/** Label names of a pod's identity. */
export interface IdentityLabels {
  readonly podName: string;
  readonly podIndex: string;
}

export function identityLabels(domain: Domain): IdentityLabels {
  return {
    podName: resolve("statefulset.{label}/pod-name", domain),
    podIndex: resolve("apps.{label}/pod-index", domain),
  };
}

/** Ordinal at the end of a pod's name; -1 = none. */
export function ordinalOf({ metadata }: Pod): number {
  const [, digits] = /-(\d+)$/.exec(metadata.name) ?? [];
  const ordinal = Number(digits ?? -1);
  return ordinal > maxOrdinal ? -1 : ordinal;
}

/** Whether a pod is named `<StatefulSet>-<ordinal>`. */
export function isMember(set: StatefulSet, { metadata }: Pod): boolean {
  return metadata.name.replace(/-\d+$/, "") === set.metadata.name && /-\d+$/.test(metadata.name);
}

export function startOrdinal({ spec }: StatefulSet): number {
  return spec.ordinals?.start ?? 0;
}

/** Whether an ordinal is within `spec.ordinals.start` and `spec.replicas`. */
export function isInRange(set: StatefulSet, ordinal: number): boolean {
  const start = startOrdinal(set);
  return ordinal >= start && ordinal < start + set.spec.replicas;
}

export function podName({ metadata }: StatefulSet, ordinal: number): string {
  return `${metadata.name}-${ordinal}`;
}

export function revisionOf({ metadata }: Pod): string {
  return metadata.labels?.[revisionLabel] ?? "";
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isReady(pod);
}

/** Whether a pod is missing, terminating, or not available for `minReadySeconds`. */
export function isUnavailable({ spec }: StatefulSet, pod: Pod | undefined, now: number): boolean {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return true;
  return !isAvailable(pod, spec.minReadySeconds, now);
}

/** Pod of an ordinal, from the template of `set`. */
export function statefulPod(
  set: StatefulSet,
  { ordinal, revision, labels }: { ordinal: number; revision: string; labels: IdentityLabels },
): Draft<Pod> & { readonly metadata: { readonly name: string } } {
  const draft = podFromTemplate(set.spec.template, set, statefulSets);
  const name = podName(set, ordinal);
  const { serviceName = "" } = set.spec;
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      name,
      labels: {
        ...draft.metadata.labels,
        [labels.podName]: name,
        [labels.podIndex]: String(ordinal),
        [revisionLabel]: revision,
      },
    },
    spec: {
      ...draft.spec,
      hostname: name,
      ...(serviceName === "" ? {} : { subdomain: serviceName }),
      volumes: volumesWithClaims(set, ordinal, draft.spec?.volumes),
    },
  };
}

/** Adds the labels and volumes of a pod's identity; returns `pod` itself if none are missing. */
export function withIdentity(set: StatefulSet, pod: Pod, labels: IdentityLabels): Pod {
  const ordinal = ordinalOf(pod);
  const { name } = pod.metadata;
  const hasName = pod.metadata.labels?.[labels.podName] === name;
  const hasVolumes = hasClaimVolumes(set, pod, ordinal);
  if (hasName && hasVolumes) return pod;
  const identity = { [labels.podName]: name, [labels.podIndex]: String(ordinal) };
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...identity } },
    spec: {
      ...pod.spec,
      ...(hasVolumes ? {} : { volumes: volumesWithClaims(set, ordinal, pod.spec?.volumes) }),
    },
  };
}

function hasClaimVolumes(set: StatefulSet, { spec }: Pod, ordinal: number): boolean {
  return (set.spec.volumeClaimTemplates ?? []).every((template) => {
    const volume = spec?.volumes?.find(({ name }) => name === template.metadata?.name);
    return volume?.persistentVolumeClaim?.claimName === claimName(set, template, ordinal);
  });
}

/** Adds the volumes of claims, which replace volumes of the template with the same name. */
function volumesWithClaims(
  set: StatefulSet,
  ordinal: number,
  volumes: readonly Volume[] = [],
): readonly Volume[] {
  const ofClaims = (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    name: template.metadata?.name ?? "",
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }));
  const names = new Set(ofClaims.map(({ name }) => name));
  return [...ofClaims, ...volumes.filter(({ name }) => !names.has(name))];
}
