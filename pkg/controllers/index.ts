/** controllers: control loops of kube-controller-manager and kube-apiserver. */
export type { ControllerContext } from "./controller-context.ts";
export {
  type ControllerDescriptor,
  type ControllerSettings,
  selectControllers,
  signingDurationMs,
  defaultControllerSettings,
} from "./controller-descriptors.ts";
export { controllerMetrics } from "./controller-metrics.ts";
export { type NodeIpamSettings, parseNodeIpam } from "./network/node-ipam/node-ipam-settings.ts";
export { runCoordinatedElection } from "./leader-election/coordinated-election.ts";
export { runLeaseEndpointReconciler } from "./network/lease-endpoint-reconciler.ts";
export {
  ensureIdentityLease,
  identityLeaseName,
  type IdentityLeaseOptions,
  isOnlyServer,
  runIdentityLease,
} from "./apiserver/identity-lease.ts";
export { ensureServerObjects, runServerObjects } from "./apiserver/server-objects.ts";
export { runServiceIpRepair } from "./network/service-ip-repair.ts";
export { runSystemNamespaces } from "./apiserver/system-namespaces.ts";
export {
  ensureKubernetesService,
  type KubernetesService,
  runKubernetesService,
} from "./network/kubernetes-service.ts";
