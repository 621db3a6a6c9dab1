/** Defaulting of pods and pod templates. */
import { assign } from "#base";
import { type HookContext, kubernetes } from "#meta";
import { entry } from "../../../strategy.ts";
import type { Container } from "../container/containers.ts";
import type { EnvVar } from "../container/environment.ts";
import { pullPolicyOf } from "../container/image-reference.ts";
import type { PersistentVolumeClaimSpec } from "../../persistent-volume/persistent-volume-claim-spec.ts";
import type { PodSpec, PodTemplateSpec } from "./pod-spec.ts";
import type { HttpGetAction, Probe } from "../container/probes.ts";
import type {
  DownwardAPIVolumeFile,
  ProjectedVolumeSource,
} from "../../volume/projected-volumes.ts";
import { type Amounts, containerTotal, roundAmounts } from "../../shared/resource-amounts.ts";
import { isOvercommitAllowed } from "../../shared/resource-names.ts";
import type { Volume } from "../../volume/volumes.ts";

/** Default mode of projected files. */
const defaultFileMode = 0o644;
const defaultTokenSeconds = 3600;
const defaultGraceSeconds = 30;

/** Annotations of init containers for kubelets before 1.8. */
const formerAnnotations = ["alpha", "beta"].flatMap((stage) => [
  `pod.${stage}.${kubernetes.label}/init-containers`,
  `pod.${stage}.${kubernetes.label}/init-container-statuses`,
]);

/** Defaults of a pod or pod template; annotations that fields have replaced are removed. */
export function defaultPodTemplate(
  { metadata, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
  gate: HookContext["gate"],
): void {
  const { annotations } = metadata;
  for (const key of formerAnnotations) {
    if (entry(annotations, key) === undefined) continue;
    delete annotations?.[key];
    if (Object.keys(annotations ?? {}).length === 0) delete metadata.annotations;
  }
  defaultPodSpec(spec, gate);
}

/** Defaults of the pod spec that depend on other fields; constant defaults are already applied. */
function defaultPodSpec(spec: PodSpec, gate: HookContext["gate"]): void {
  spec.dnsPolicy ||= "ClusterFirst";
  spec.restartPolicy ||= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= defaultGraceSeconds;
  spec.schedulerName ||= "default-scheduler";
  mirrorServiceAccount(spec);
  roundAmounts(spec.overhead);
  roundAmounts(spec.resources?.limits);
  roundAmounts(spec.resources?.requests);
  for (const volume of spec.volumes ?? []) defaultVolume(volume, gate);
  for (const container of allContainers(spec)) defaultContainer(container);
}

/** Defaults of pods that templates do not get. */
export function defaultPod(spec: PodSpec): void {
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    const { resources } = container;
    if (resources.limits !== undefined) {
      resources.requests = withMissing(resources.requests, resources.limits);
    }
    if (spec.hostNetwork) {
      for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
    }
  }
  defaultPodResources(spec);
  spec.enableServiceLinks ??= true;
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
}

function allContainers(spec: PodSpec): readonly Container[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
}

/** Synchronizes `serviceAccount` with `serviceAccountName`, which takes precedence. */
function mirrorServiceAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

/** `amounts`, with missing resources that satisfy `wanted` copied from `others`. */
function withMissing(
  amounts: Readonly<Amounts> | undefined,
  others: Readonly<Amounts>,
  isWanted: (name: string) => boolean = () => true,
): Amounts {
  const result: Amounts = { ...amounts };
  for (const [name, amount] of Object.entries(others)) {
    if (entry(result, name) === undefined && isWanted(name)) assign(result, name, amount);
  }
  return result;
}

function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** Resources supported at pod level. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || isHugePages(name);
}

/** Defaults pod-level requests to the sum of the containers' requests, else to the pod's limits. */
function defaultPodResources(spec: PodSpec): void {
  const { resources } = spec;
  if (resources === undefined) return;
  const limits = withMissing(resources.limits, containerTotal(spec, "limits"), isHugePages);
  if (Object.keys(limits).length > 0) resources.limits = limits;
  const containerRequests = containerTotal(spec, "requests");
  const shared = (name: string) => isPodLevelResource(name) && isOvercommitAllowed(name);
  const known = withMissing(resources.requests, containerRequests, shared);
  const requests = withMissing(known, limits, isPodLevelResource);
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

function defaultContainer(container: Container): void {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? "");
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ||= "File";
  roundAmounts(container.resources.limits);
  roundAmounts(container.resources.requests);
  for (const variable of container.env ?? []) defaultVariable(variable);
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  for (const probe of [livenessProbe, readinessProbe, startupProbe]) {
    if (probe !== undefined) defaultProbe(probe);
  }
  defaultRequest(lifecycle?.postStart?.httpGet);
  defaultRequest(lifecycle?.preStop?.httpGet);
}

function defaultVariable({ valueFrom }: EnvVar): void {
  if (valueFrom?.fieldRef !== undefined) valueFrom.fieldRef.apiVersion ||= "v1";
}

function defaultProbe(probe: Probe): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultRequest(probe.httpGet);
}

function defaultRequest(request: HttpGetAction | undefined): void {
  if (request === undefined) return;
  request.path ||= "/";
  request.scheme ||= "HTTP";
}

function defaultVolume(volume: Volume, gate: HookContext["gate"]): void {
  // A volume without a source defaults to emptyDir.
  if (Object.keys(volume).every((field) => field === "name")) volume.emptyDir = {};
  const { hostPath, secret, configMap, downwardAPI, projected, image, ephemeral } = volume;
  if (hostPath !== undefined) hostPath.type ??= "";
  for (const source of [secret, configMap, downwardAPI, projected]) {
    if (source !== undefined) source.defaultMode ??= defaultFileMode;
  }
  defaultFiles(downwardAPI?.items);
  if (projected !== undefined) defaultProjected(projected);
  // No default for a field that will be dropped: its manager would own the default.
  if (image !== undefined && gate("ImageVolume")) {
    image.pullPolicy ||= pullPolicyOf(image.reference ?? "");
  }
  if (ephemeral?.volumeClaimTemplate !== undefined) {
    defaultClaimSpec(ephemeral.volumeClaimTemplate.spec);
  }
}

/** Defaults of PersistentVolumeClaims and claim templates. */
export function defaultClaimSpec(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= "Filesystem";
  roundAmounts(spec.resources.limits);
  roundAmounts(spec.resources.requests);
}

function defaultProjected({ sources }: ProjectedVolumeSource): void {
  for (const { downwardAPI, serviceAccountToken } of sources ?? []) {
    defaultFiles(downwardAPI?.items);
    if (serviceAccountToken !== undefined)
      serviceAccountToken.expirationSeconds ??= defaultTokenSeconds;
  }
}

function defaultFiles(files: readonly DownwardAPIVolumeFile[] | undefined): void {
  for (const { fieldRef } of files ?? []) {
    if (fieldRef !== undefined) fieldRef.apiVersion ||= "v1";
  }
}
