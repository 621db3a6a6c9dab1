/** Execution order of admission plugins. */
import type { AdmissionPlugin } from "./plugin.ts";
import { mutatingAdmissionPolicy } from "./policies/mutating-admission-policy.ts";
import { validatingAdmissionPolicy } from "./policies/validating-admission-policy.ts";
import { podSecurity } from "./pod-security/pod-security.ts";
import { draAdminAccess } from "./plugins/dra-admin-access.ts";
import {
  alwaysAdmit,
  alwaysDeny,
  createByUpdateAuthorization,
  ownerReferencesPermissionEnforcement,
  rbacEscalation,
} from "./plugins/access/index.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "./plugins/certificates/index.ts";
import { eventRateLimit, limitRanger, resourceQuota } from "./plugins/limits/index.ts";
import {
  namespaceAutoProvision,
  namespaceExists,
  namespaceLifecycle,
} from "./plugins/namespace/index.ts";
import { defaultIngressClass, denyServiceExternalIPs } from "./plugins/network/index.ts";
import { nodeRestriction, taintNodesByCondition } from "./plugins/node/index.ts";
import {
  alwaysPullImages,
  defaultTolerationSeconds,
  extendedResourceToleration,
  imagePolicyWebhook,
  limitPodHardAntiAffinityTopology,
  podNodeSelector,
  podTolerationRestriction,
  podTopologyLabels,
  priority,
  runtimeClass,
  serviceAccount,
} from "./plugins/pod/index.ts";
import {
  defaultStorageClass,
  persistentVolumeClaimResize,
  storageObjectInUseProtection,
} from "./plugins/storage/index.ts";
import { mutatingAdmissionWebhook } from "./webhooks/mutating-admission-webhook.ts";
import { validatingAdmissionWebhook } from "./webhooks/validating-admission-webhook.ts";

/**
 * All admission plugins in execution order: the mutating phase runs the `mutate` handlers from top to bottom
 * (and again if a plugin requests reinvocation), the validating phase the `validate` handlers. Source:
 * `AllOrderedPlugins` of kube-apiserver 1.34.
 *
 * Three checks (`enabled: "always"`) are not plugins in kube-apiserver:
 * - createByUpdateAuthorization runs right after the namespace is known to exist, so that no webhook receives
 *   an object that the user may not create. In kube-apiserver it runs after field validation.
 * - draAdminAccess is first in the validating phase; in kube-apiserver it is part of field validation.
 * - rbacEscalation ends the mutating phase, since it checks mutated roles and bindings; in kube-apiserver it
 *   is part of RBAC storage, between mutating admission and validation.
 */
export const admissionOrder: readonly AdmissionPlugin[] = [
  draAdminAccess,
  alwaysAdmit,
  namespaceAutoProvision,
  namespaceLifecycle,
  createByUpdateAuthorization,
  namespaceExists,
  limitPodHardAntiAffinityTopology,
  limitRanger,
  serviceAccount,
  nodeRestriction,
  taintNodesByCondition,
  alwaysPullImages,
  imagePolicyWebhook,
  podSecurity,
  podNodeSelector,
  priority,
  defaultTolerationSeconds,
  podTolerationRestriction,
  eventRateLimit,
  extendedResourceToleration,
  defaultStorageClass,
  storageObjectInUseProtection,
  ownerReferencesPermissionEnforcement,
  persistentVolumeClaimResize,
  runtimeClass,
  certificateApproval,
  certificateSigning,
  clusterTrustBundleAttest,
  certificateSubjectRestriction,
  defaultIngressClass,
  denyServiceExternalIPs,
  podTopologyLabels,
  mutatingAdmissionPolicy,
  mutatingAdmissionWebhook,
  rbacEscalation,
  validatingAdmissionPolicy,
  validatingAdmissionWebhook,
  resourceQuota,
  alwaysDeny,
];
