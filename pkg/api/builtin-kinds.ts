import type { Kind } from "#meta";
import { resourceKinds } from "./resource/kinds.ts";
import { cronJob } from "./batch/cron-job.ts";
import { job } from "./batch/job.ts";
import { daemonSet } from "./apps/daemon-set.ts";
import { deployment } from "./apps/deployment.ts";
import { replicaSet } from "./apps/replica-set.ts";
import { statefulSet } from "./apps/stateful-set.ts";
import { horizontalPodAutoscaler } from "./autoscaling/horizontal-pod-autoscaler.ts";
import { apiService } from "./apiregistration/api-service.ts";
import { selfSubjectReview } from "./authentication/self-subject-review.ts";
import { tokenReview } from "./authentication/token-review.ts";
import { authorizationKinds } from "./authorization/kinds.ts";
import { customResourceDefinition } from "./apiextensions/custom-resource-definition.ts";
import { admissionRegistrationKinds } from "./admissionregistration/kinds.ts";
import { storageVersion } from "./apiserverinternal/storage-version.ts";
import { controllerRevision } from "./apps/controller-revision.ts";
import { certificateKinds } from "./certificates/kinds.ts";
import { lease } from "./coordination/lease.ts";
import { leaseCandidate } from "./coordination/lease-candidate.ts";
import { binding } from "./core/binding.ts";
import { componentStatus } from "./core/component-status.ts";
import { configMap } from "./core/config-map.ts";
import { endpoints } from "./core/endpoints.ts";
import { event } from "./core/event.ts";
import { limitRange } from "./core/limit-range.ts";
import { namespace } from "./core/namespace.ts";
import { node } from "./core/node/node.ts";
import { persistentVolume } from "./core/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaim } from "./core/persistent-volume/persistent-volume-claim.ts";
import { pod } from "./core/pod/pod.ts";
import { podTemplate } from "./core/pod-template.ts";
import { replicationController } from "./core/replication-controller.ts";
import { resourceQuota } from "./core/resource-quota.ts";
import { secret } from "./core/secret.ts";
import { service } from "./core/service/service.ts";
import { serviceAccount } from "./core/service-account.ts";
import { endpointSlice } from "./discovery/endpoint-slice.ts";
import { flowControlKinds } from "./flowcontrol/kinds.ts";
import { ingress } from "./networking/ingress.ts";
import { ingressClass } from "./networking/ingress-class.ts";
import { ipAddress } from "./networking/ip-address.ts";
import { networkPolicy } from "./networking/network-policy.ts";
import { serviceCidr } from "./networking/service-cidr.ts";
import { runtimeClass } from "./node/runtime-class.ts";
import { podDisruptionBudget } from "./policy/pod-disruption-budget.ts";
import { clusterRole } from "./rbac/cluster-role.ts";
import { clusterRoleBinding } from "./rbac/cluster-role-binding.ts";
import { role } from "./rbac/role.ts";
import { roleBinding } from "./rbac/role-binding.ts";
import { priorityClass } from "./scheduling/priority-class.ts";
import { csiDriver } from "./storage/csi-driver.ts";
import { csiNode } from "./storage/csi-node.ts";
import { csiStorageCapacity } from "./storage/csi-storage-capacity.ts";
import { storageClass } from "./storage/storage-class.ts";
import { volumeAttachment } from "./storage/volume-attachment.ts";
import { volumeAttributesClass } from "./storage/volume-attributes-class.ts";
import { storageVersionMigration } from "./storagemigration/storage-version-migration.ts";

/** All built-in kinds: groups in the order of discovery, the kinds of a group by plural name. */
export const builtinKinds: readonly Kind[] = [
  binding,
  componentStatus,
  configMap,
  endpoints,
  event,
  limitRange,
  namespace,
  node,
  persistentVolumeClaim,
  persistentVolume,
  pod,
  podTemplate,
  replicationController,
  resourceQuota,
  secret,
  serviceAccount,
  service,
  apiService,
  controllerRevision,
  daemonSet,
  deployment,
  replicaSet,
  statefulSet,
  selfSubjectReview,
  tokenReview,
  ...authorizationKinds,
  horizontalPodAutoscaler,
  cronJob,
  job,
  ...certificateKinds,
  ingressClass,
  ingress,
  ipAddress,
  networkPolicy,
  serviceCidr,
  podDisruptionBudget,
  clusterRoleBinding,
  clusterRole,
  roleBinding,
  role,
  csiDriver,
  csiNode,
  csiStorageCapacity,
  storageClass,
  volumeAttachment,
  volumeAttributesClass,
  ...admissionRegistrationKinds,
  customResourceDefinition,
  priorityClass,
  lease,
  leaseCandidate,
  runtimeClass,
  endpointSlice,
  ...resourceKinds,
  ...flowControlKinds,
  storageVersion,
  storageVersionMigration,
];
