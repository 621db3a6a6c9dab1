/** Controllers of Service endpoints and node networks, named as in kube-controller-manager. */
import { type EndpointsOptions, runEndpointsController } from "./endpoints/endpoints-controller.ts";
import {
  type MirroringOptions,
  runEndpointSliceMirroring,
} from "./mirroring/endpoint-slice-mirroring-controller.ts";
import { mirroringMetrics } from "./mirroring/mirroring-metrics.ts";
import {
  nodeIpamMetrics,
  type NodeIpamOptions,
  runNodeIpamController,
} from "./node-ipam/node-ipam-controller.ts";
import {
  type EndpointSliceOptions,
  runEndpointSliceController,
} from "./slices/endpoint-slice-controller.ts";
import { endpointSliceMetrics } from "./slices/slice-metrics.ts";

export interface NetworkSettings
  extends EndpointsOptions, EndpointSliceOptions, MirroringOptions, NodeIpamOptions {}

/** Defaults of kube-controller-manager. */
export const defaultNetworkSettings = {
  endpointWorkers: 5,
  endpointsBatchMs: 0,
  serviceEndpointWorkers: 5,
  maxEndpointsPerSlice: 100,
  endpointSliceBatchMs: 0,
  mirroringWorkers: 5,
  mirroringMaxPerSubset: 1_000,
  mirroringBatchMs: 0,
} as const;

export const networkMetrics = [...endpointSliceMetrics, ...mirroringMetrics, ...nodeIpamMetrics];

export const networkControllers = [
  {
    name: "endpoints-controller",
    alias: "endpoint",
    serviceAccount: "endpoint-controller",
    enabledByDefault: true,
    run: runEndpointsController,
  },
  {
    name: "endpointslice-controller",
    alias: "endpointslice",
    serviceAccount: "endpointslice-controller",
    enabledByDefault: true,
    run: runEndpointSliceController,
  },
  {
    name: "endpointslice-mirroring-controller",
    alias: "endpointslicemirroring",
    serviceAccount: "endpointslicemirroring-controller",
    enabledByDefault: true,
    run: runEndpointSliceMirroring,
  },
  {
    name: "node-ipam-controller",
    alias: "nodeipam",
    serviceAccount: "node-controller",
    enabledByDefault: true,
    run: runNodeIpamController,
  },
] as const;
