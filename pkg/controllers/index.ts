/** controllers: what keeps objects in order behind the API. */
export type { ControllerContext } from "./context.ts";
export {
  type Controller,
  type ControllerSettings,
  selectControllers,
  signingDurationMs,
  usualWorkers,
} from "./controllers.ts";
export { runCoordinatedElection } from "./coordinated-election.ts";
export { runServerEndpoints } from "./server-endpoints.ts";
export { runServerIdentity } from "./server-identity.ts";
export { ensureServerObjects, runServerObjects } from "./server-objects.ts";
export { runServiceRepair } from "./service-repair.ts";
export { ensureKubernetesService } from "./kubernetes-service.ts";
