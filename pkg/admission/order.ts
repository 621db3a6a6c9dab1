/** The order in which a write meets admission. */
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
 * Every admission plugin, in the order of execution: the mutating phase runs the `mutate` handlers
 * from top to bottom (and once more where a plugin requests reinvocation), the validating phase the
 * `validate` handlers from top to bottom. Source: `AllOrderedPlugins` of kube-apiserver 1.34.
 *
 * Three checks (`enabled: "always"`) are no plugins there:
 * - createByUpdateAuthorization comes as early as the namespace is known to exist, so that no webhook
 *   receives an object that the user may not create. kube-apiserver makes it after field validation.
 * - draAdminAccess comes first in the validating phase, since kube-apiserver makes it in field
 *   validation.
 * - rbacEscalation ends the mutating phase: it judges roles and bindings as mutated, as
 *   kube-apiserver does, whose RBAC storage makes it between mutating admission and validation.
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
