/** Controllers of dynamic resource allocation, named as in kube-controller-manager. */
import { resourceClaimMetrics } from "./claim-generator.ts";
import {
  deviceTaintEvictionMetrics,
  type DeviceTaintEvictionOptions,
  runDeviceTaintEvictionController,
} from "./device-taint-eviction-controller.ts";
import {
  defaultResourceClaimWorkers,
  type ResourceClaimOptions,
  runResourceClaimController,
} from "./resource-claim-controller.ts";

export interface ResourceSettings extends ResourceClaimOptions, DeviceTaintEvictionOptions {}

/** Defaults of kube-controller-manager. */
export const defaultResourceSettings = {
  resourceClaimWorkers: defaultResourceClaimWorkers,
} as const;

export const resourceMetrics = [...resourceClaimMetrics, ...deviceTaintEvictionMetrics];

export const resourceControllers = [
  {
    name: "resourceclaim-controller",
    alias: "resource-claim-controller",
    serviceAccount: "resource-claim-controller",
    enabledByDefault: true,
    run: runResourceClaimController,
  },
  {
    name: "device-taint-eviction-controller",
    serviceAccount: "device-taint-eviction-controller",
    enabledByDefault: true,
    run: runDeviceTaintEvictionController,
  },
] as const;
