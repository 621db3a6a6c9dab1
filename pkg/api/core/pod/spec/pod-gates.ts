/** Fields of pods that are dropped while their feature gates are off. */
import { allContainers } from "./pod-containers.ts";
import type { Container } from "../container/containers.ts";
import type { PodSpec } from "./pod-spec.ts";
import type { Pod } from "../pod-types.ts";

type Gate = (name: string) => boolean;

interface GatedField {
  readonly gate: string;
  readonly isUsed: (spec: PodSpec) => boolean;
  readonly drop: (spec: PodSpec) => void;
}

function sourcesOf(spec: PodSpec) {
  if (spec.volumes?.some(({ projected }) => projected !== undefined) !== true) return [];
  return spec.volumes.flatMap(({ projected }) => projected?.sources ?? []);
}

/** The variables with a source. */
function variablesOf(spec: PodSpec) {
  return allContainers(spec).flatMap(
    ({ env }) => env?.filter(({ valueFrom }) => valueFrom !== undefined) ?? [],
  );
}

function hasRestartRules({ restartPolicy, restartPolicyRules }: Container): boolean {
  return restartPolicy !== undefined || (restartPolicyRules ?? []).length > 0;
}

function longTerm(spec: PodSpec): readonly Container[] {
  return [...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

const gated: readonly GatedField[] = [
  {
    gate: "ContainerRestartRules",
    isUsed: (spec) =>
      longTerm(spec).some(hasRestartRules) ||
      (spec.initContainers ?? []).some(
        (each) => hasRestartRules(each) && each.restartPolicy !== "Always",
      ),
    drop: (spec) => {
      for (const container of longTerm(spec)) {
        if (container.restartPolicy !== undefined) delete container.restartPolicy;
        if (container.restartPolicyRules !== undefined) delete container.restartPolicyRules;
      }
      // restartPolicy of init containers marks sidecars and is no longer gated.
      for (const container of spec.initContainers ?? []) {
        if (container.restartPolicy !== "Always") delete container.restartPolicy;
        delete container.restartPolicyRules;
      }
    },
  },
  {
    gate: "ImageVolume",
    isUsed: ({ volumes }) => (volumes ?? []).some(({ image }) => image !== undefined),
    drop: dropImageVolumes,
  },
  {
    gate: "ClusterTrustBundleProjection",
    isUsed: (spec) => sourcesOf(spec).some((source) => source.clusterTrustBundle !== undefined),
    drop: (spec) => sourcesOf(spec).forEach((source) => delete source.clusterTrustBundle),
  },
  {
    gate: "PodCertificateRequest",
    isUsed: (spec) => sourcesOf(spec).some((source) => source.podCertificate !== undefined),
    drop: (spec) => sourcesOf(spec).forEach((source) => delete source.podCertificate),
  },
  {
    gate: "HostnameOverride",
    isUsed: (spec) => spec.hostnameOverride !== undefined,
    drop: (spec) => {
      if (spec.hostnameOverride !== undefined) delete spec.hostnameOverride;
    },
  },
  {
    gate: "ContainerStopSignals",
    isUsed: (spec) => allContainers(spec).some((each) => each.lifecycle?.stopSignal !== undefined),
    drop: (spec) => {
      for (const container of allContainers(spec)) {
        if (container.lifecycle?.stopSignal === undefined) continue;
        delete container.lifecycle.stopSignal;
        if (Object.keys(container.lifecycle).length === 0) delete container.lifecycle;
      }
    },
  },
  {
    gate: "EnvFiles",
    isUsed: (spec) => variablesOf(spec).some(({ valueFrom }) => valueFrom?.fileKeyRef),
    drop: (spec) => {
      for (const { valueFrom } of variablesOf(spec)) {
        if (valueFrom?.fileKeyRef !== undefined) delete valueFrom.fileKeyRef;
      }
    },
  },
  {
    gate: "DynamicResourceAllocation",
    isUsed: ({ resourceClaims }) => (resourceClaims ?? []).length > 0,
    drop: (spec) => {
      delete spec.resourceClaims;
      for (const { resources } of allContainers(spec)) delete resources?.claims;
    },
  },
  {
    gate: "MatchLabelKeysInPodTopologySpread",
    isUsed: (spec) => (spec.topologySpreadConstraints ?? []).some(hasLabelKeys),
    drop: (spec) => {
      for (const constraint of spec.topologySpreadConstraints ?? [])
        delete constraint.matchLabelKeys;
    },
  },
  {
    gate: "PodLevelResources",
    isUsed: ({ resources }) => resources !== undefined,
    drop: (spec) => delete spec.resources,
  },
  {
    gate: "ProcMountType",
    isUsed: (spec) => allContainers(spec).some((each) => each.securityContext?.procMount),
    drop: (spec) => {
      for (const { securityContext } of allContainers(spec)) delete securityContext?.procMount;
    },
  },
  {
    gate: "SELinuxChangePolicy",
    isUsed: ({ securityContext }) => securityContext?.seLinuxChangePolicy !== undefined,
    drop: ({ securityContext }) => delete securityContext?.seLinuxChangePolicy,
  },
];

function hasLabelKeys({ matchLabelKeys }: { readonly matchLabelKeys?: readonly string[] }) {
  return (matchLabelKeys ?? []).length > 0;
}

/** Removes gated volumes with their mounts. */
function dropImageVolumes(spec: PodSpec): void {
  const volumes = spec.volumes ?? [];
  const images = volumes.filter(({ image }) => image !== undefined);
  if (images.length === 0) return;
  const names = new Set(images.map(({ name }) => name));
  spec.volumes = volumes.filter(({ image }) => image === undefined);
  for (const container of allContainers(spec)) {
    if (container.volumeMounts === undefined) continue;
    container.volumeMounts = container.volumeMounts.filter(({ name }) => !names.has(name));
  }
}

/**
 * Drops fields of disabled feature gates, unless `old` uses them. Applies to writes of pods and of
 * all kinds with a pod template.
 */
export function dropGatedPodFields(spec: PodSpec, old: PodSpec | undefined, gate: Gate): void {
  for (const { gate: name, isUsed, drop } of gated) {
    if (gate(name) || (old !== undefined && isUsed(old))) continue;
    drop(spec);
  }
}

type Status = Pod["status"];

export function containerStatusesOf({
  containerStatuses,
  initContainerStatuses,
  ephemeralContainerStatuses,
}: Status) {
  return [containerStatuses, initContainerStatuses, ephemeralContainerStatuses].flatMap(
    (statuses) => statuses ?? [],
  );
}

/**
 * Drops status fields of disabled feature gates, unless `old` uses them; device health is always
 * dropped.
 */
export function dropGatedStatusFields(status: Status, old: Status, gate: Gate): void {
  const isResized = containerStatusesOf(old).some((each) => each.allocatedResources !== undefined);
  for (const each of containerStatusesOf(status)) {
    if (!isResized && !gate("InPlacePodVerticalScaling")) delete each.allocatedResources;
    if (!gate("ResourceHealthStatus")) delete each.allocatedResourcesStatus;
  }
  const tracksGeneration = ({ observedGeneration, conditions = [] }: Status) =>
    [observedGeneration, ...conditions.map((each) => each.observedGeneration)].some(Boolean);
  if (!gate("PodObservedGenerationTracking") && !tracksGeneration(old)) {
    delete status.observedGeneration;
    for (const condition of status.conditions ?? []) delete condition.observedGeneration;
  }
  if (old.extendedResourceClaimStatus !== undefined || gate("DRAExtendedResource")) return;
  delete status.extendedResourceClaimStatus;
}
