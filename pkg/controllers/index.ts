/** controllers: what keeps objects in order behind the API. */
import type { ControllerOptions } from "./access.ts";
import { runClusterRoleAggregation } from "./cluster-role-aggregation.ts";
import { runGarbageCollector } from "./garbage-collector.ts";
import { runNamespaceController } from "./namespace.ts";
import { runServiceAccountController } from "./service-account.ts";

export { runServerEndpoints } from "./server-endpoints.ts";
export { runServiceRepair } from "./service-repair.ts";
export { ensureKubernetesService } from "./kubernetes-service.ts";
export { ensureServerObjects, runServerObjects } from "./server-objects.ts";
export type { ControllerOptions } from "./access.ts";

/** Runs every controller until the signal aborts. */
export async function runControllers(options: ControllerOptions): Promise<void> {
  await Promise.all([
    runNamespaceController(options),
    runServiceAccountController(options),
    runGarbageCollector(options),
    runClusterRoleAggregation(options),
  ]);
}
