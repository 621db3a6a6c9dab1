import { type ControllerSettings, defaultControllerSettings, parseNodeIpam } from "#controllers";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";

const atLeast1 = { minimum: 1 };
const perSlice = { minimum: 1, maximum: 1_000 };
const prefix = { minimum: 0, maximum: 128 };

/** Flags of the endpoint controllers and of node IPAM. */
export const networkFlags = {
  "allocate-node-cidrs": flag("bool", false, "allocate pod CIDRs of nodes from --cluster-cidr"),
  "cidr-allocator-type": flag("string", "RangeAllocator", "type of the allocator of pod CIDRs", {
    values: ["RangeAllocator"],
  }),
  "cluster-cidr": flag(
    "string",
    "",
    "CIDR of pods, or an IPv4 and an IPv6 CIDR, comma-separated; used with --allocate-node-cidrs",
  ),
  "concurrent-endpoint-syncs": flag(
    "int",
    defaultControllerSettings.endpointWorkers,
    "number of services whose Endpoints are synced concurrently",
    atLeast1,
  ),
  "concurrent-service-endpoint-syncs": flag(
    "int",
    defaultControllerSettings.serviceEndpointWorkers,
    "number of services whose EndpointSlices are synced concurrently",
    atLeast1,
  ),
  "endpoint-updates-batch-period": flag(
    "duration",
    defaultControllerSettings.endpointsBatchMs,
    "period for which changes of pods are batched before Endpoints are updated",
  ),
  "endpointslice-updates-batch-period": flag(
    "duration",
    defaultControllerSettings.endpointSliceBatchMs,
    "period for which changes of pods are batched before EndpointSlices are updated",
  ),
  "max-endpoints-per-slice": flag(
    "int",
    defaultControllerSettings.maxEndpointsPerSlice,
    "maximum number of endpoints in an EndpointSlice",
    perSlice,
  ),
  "mirroring-concurrent-service-endpoint-syncs": flag(
    "int",
    defaultControllerSettings.mirroringWorkers,
    "number of Endpoints that are mirrored to EndpointSlices concurrently",
    atLeast1,
  ),
  "mirroring-endpointslice-updates-batch-period": flag(
    "duration",
    defaultControllerSettings.mirroringBatchMs,
    "period for which changes of Endpoints are batched before mirrored EndpointSlices are updated",
  ),
  "mirroring-max-endpoints-per-subset": flag(
    "int",
    defaultControllerSettings.mirroringMaxPerSubset,
    "maximum number of addresses of an Endpoints subset that are mirrored to an EndpointSlice",
    perSlice,
  ),
  "node-cidr-mask-size": flag(
    "int",
    0,
    "prefix length of the pod CIDRs of nodes; 0 = 24 for IPv4, 64 for IPv6",
    prefix,
  ),
  "node-cidr-mask-size-ipv4": flag(
    "int",
    0,
    "prefix length of the IPv4 pod CIDRs of nodes; 0 = 24",
    { minimum: 0, maximum: 32 },
  ),
  "node-cidr-mask-size-ipv6": flag(
    "int",
    0,
    "prefix length of the IPv6 pod CIDRs of nodes; 0 = 64",
    prefix,
  ),
  "service-cluster-ip-range": flag(
    "string",
    "",
    "CIDRs of Services, comma-separated, from which no pod CIDRs are allocated; used with " +
      "--allocate-node-cidrs",
  ),
} as const;

type Values = FlagValues<typeof networkFlags>;

/** @throws UsageError for invalid CIDRs */
export function networkSettings(values: Values) {
  return {
    endpointWorkers: values["concurrent-endpoint-syncs"],
    endpointsBatchMs: values["endpoint-updates-batch-period"],
    serviceEndpointWorkers: values["concurrent-service-endpoint-syncs"],
    maxEndpointsPerSlice: values["max-endpoints-per-slice"],
    endpointSliceBatchMs: values["endpointslice-updates-batch-period"],
    mirroringWorkers: values["mirroring-concurrent-service-endpoint-syncs"],
    mirroringMaxPerSubset: values["mirroring-max-endpoints-per-subset"],
    mirroringBatchMs: values["mirroring-endpointslice-updates-batch-period"],
    ...(values["allocate-node-cidrs"] ? { nodeIpam: nodeIpamOf(values) } : {}),
  } satisfies Partial<ControllerSettings>;
}

function nodeIpamOf(values: Values) {
  try {
    return parseNodeIpam({
      clusterCidr: values["cluster-cidr"],
      serviceRange: values["service-cluster-ip-range"],
      maskSize: values["node-cidr-mask-size"],
      maskSizeIpv4: values["node-cidr-mask-size-ipv4"],
      maskSizeIpv6: values["node-cidr-mask-size-ipv6"],
    });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}
