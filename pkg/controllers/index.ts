/** controllers: what keeps objects in order behind the API. */
export type { ControllerContext } from "./controller-context.ts";
export {
  type Controller,
  type ControllerSettings,
  selectControllers,
  signingDurationMs,
  usualWorkers,
} from "./controller-descriptors.ts";
export { runCoordinatedElection } from "./leader-election/coordinated-election.ts";
export { runServerEndpoints } from "./network/server-endpoints.ts";
export { runServerIdentity } from "./apiserver/server-identity.ts";
export { ensureServerObjects, runServerObjects } from "./apiserver/server-objects.ts";
export { runServiceRepair } from "./network/service-repair.ts";
export { ensureKubernetesService } from "./network/kubernetes-service.ts";
