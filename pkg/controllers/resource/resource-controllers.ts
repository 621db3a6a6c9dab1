/** The controllers of dynamic resource allocation, with the names of kube-controller-manager. */
import {
  defaultResourceClaimWorkers,
  type ResourceClaimOptions,
  runResourceClaimController,
} from "./resource-claim-controller.ts";

export interface ResourceSettings extends ResourceClaimOptions {}

/** Defaults of kube-controller-manager. */
export const defaultResourceSettings = {
  resourceClaimWorkers: defaultResourceClaimWorkers,
} as const;

export { resourceClaimMetrics as resourceMetrics } from "./claim-generator.ts";

export const resourceControllers = [
  {
    name: "resourceclaim-controller",
    alias: "resource-claim-controller",
    serviceAccount: "resource-claim-controller",
    enabledByDefault: true,
    run: runResourceClaimController,
  },
] as const;
