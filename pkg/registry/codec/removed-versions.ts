import { type Catalog, type Resource, resolve } from "#meta";

/**
 * Versions that are registered in the scheme of Kubernetes 1.34 but not served, or not by default: a
 * body in such a version is rejected for its version, not for an unknown kind.
 */
const removed: readonly (readonly [groupVersion: string, kinds: string])[] = [
  ["apps/v1beta1", "Deployment StatefulSet ControllerRevision"],
  ["apps/v1beta2", "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision"],
  ["extensions/v1beta1", "Deployment DaemonSet ReplicaSet Ingress NetworkPolicy"],
  ["batch/v1beta1", "CronJob"],
  ["autoscaling/v2beta1", "HorizontalPodAutoscaler"],
  ["autoscaling/v2beta2", "HorizontalPodAutoscaler"],
  ["policy/v1beta1", "PodDisruptionBudget Eviction"],
  ["networking.{api}/v1beta1", "Ingress IngressClass IPAddress ServiceCIDR"],
  ["node.{api}/v1alpha1", "RuntimeClass"],
  ["node.{api}/v1beta1", "RuntimeClass"],
  ["storage.{api}/v1alpha1", "VolumeAttachment CSIStorageCapacity VolumeAttributesClass"],
  [
    "storage.{api}/v1beta1",
    "StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass",
  ],
  ["scheduling.{api}/v1alpha1", "PriorityClass"],
  ["scheduling.{api}/v1beta1", "PriorityClass"],
  ["coordination.{api}/v1beta1", "Lease"],
  ["discovery.{api}/v1beta1", "EndpointSlice"],
  ["events.{api}/v1beta1", "Event"],
  ["flowcontrol.apiserver.{api}/v1beta1", "FlowSchema PriorityLevelConfiguration"],
  ["flowcontrol.apiserver.{api}/v1beta2", "FlowSchema PriorityLevelConfiguration"],
  ["flowcontrol.apiserver.{api}/v1beta3", "FlowSchema PriorityLevelConfiguration"],
  ["certificates.{api}/v1beta1", "CertificateSigningRequest"],
  [
    "admissionregistration.{api}/v1beta1",
    "ValidatingWebhookConfiguration MutatingWebhookConfiguration ValidatingAdmissionPolicy " +
      "ValidatingAdmissionPolicyBinding",
  ],
  [
    "admissionregistration.{api}/v1alpha1",
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
  ],
];

/** Groups that the kinds of `extensions` have moved to. */
const formerlyExtensions = ["apps", "networking.{api}"];

/** apiVersion and kind as a body names them. */
export interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The served resource of a kind whose body has a removed version. */
export function removedResource(catalog: Catalog, named: NamedKind): Resource | undefined {
  const { domain } = catalog;
  const isKnown = removed.some(
    ([groupVersion, kinds]) =>
      resolve(groupVersion, domain) === named.apiVersion && kinds.split(" ").includes(named.kind),
  );
  if (!isKnown) return undefined;
  const [group = ""] = named.apiVersion.split("/");
  const groups = group === "extensions" ? formerlyExtensions : [group];
  return groups
    .flatMap((each) => catalog.inGroup(resolve(each, domain)))
    .find(({ kind }) => kind.kind === named.kind);
}
