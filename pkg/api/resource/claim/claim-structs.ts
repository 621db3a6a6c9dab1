/** Structs of claims and of templates for them. */
import {
  required,
  bool,
  type Infer,
  inline,
  int64,
  list,
  map,
  pointer,
  value,
  string,
  type StructType,
} from "#schema";
import { condition, objectMeta, quantity, rawExtension, time } from "#meta";
import { nodeSelector } from "../../core/pod/spec/scheduling.ts";
import { atomic, gates, shared, type Shared } from "../shared-structs.ts";

/** What is asked for, but for what the versions number differently; `from` is the first number. */
const askedFields = (structs: Shared, from: number) => ({
  deviceClassName: required(from, string, "Class of the devices."),
  selectors: value(from + 1, list(structs.deviceSelector), "Which ones of the class.", atomic),
  allocationMode: value(from + 2, string, "ExactCount: as many as `count` says; All that fit."),
  count: value(from + 3, int64, "How many, with ExactCount; 1 when absent."),
});

const adminAccess = (number: number) =>
  pointer(number, bool, "For who looks after devices, which others may be using.", {
    gate: "DRAAdminAccess",
  });

const neededFields = (structs: Shared, from: number) => ({
  tolerations: value(from, list(structs.deviceToleration), "Taints that do not matter.", atomic),
  capacity: pointer(from + 1, structs.capacityRequirements, "Amounts that are needed.", {
    gate: gates.capacity,
  }),
});

const firstAvailable = (structs: Shared, { number, from }: { number: number; from: number }) => {
  const way = structs.declare("DeviceSubRequest", "One of several ways to satisfy a request.", {
    name: required(1, string, "Its name, a DNS label."),
    ...askedFields(structs, 2),
    ...neededFields(structs, from),
  });
  return value(number, list(way), "Ways in order of preference.", {
    ...atomic,
    gate: "DRAPrioritizedList",
  });
};

const requestName = required(1, string, "Its name, a DNS label.");

const requestStruct = (structs: Shared) => {
  const exact = structs.declare("ExactDeviceRequest", "Asks for devices of one class.", {
    ...askedFields(structs, 1),
    adminAccess: adminAccess(5),
    ...neededFields(structs, 6),
  });
  return structs.declare("DeviceRequest", "Asks for devices in one way or another.", {
    name: requestName,
    exactly: pointer(2, exact, "Devices of one class."),
    firstAvailable: firstAvailable(structs, { number: 3, from: 6 }),
  });
};

const flatRequestStruct = (structs: Shared) => {
  const { deviceClassName, ...asked } = askedFields(structs, 2);
  return structs.declare("DeviceRequest", "Asks for devices in one way or another.", {
    name: requestName,
    deviceClassName: { ...deviceClassName, required: false },
    ...asked,
    adminAccess: adminAccess(6),
    firstAvailable: firstAvailable(structs, { number: 7, from: 7 }),
    ...neededFields(structs, 8),
  });
};

const resultStruct = ({ declare, deviceToleration }: Shared) =>
  declare("DeviceRequestAllocationResult", "A device for a request.", {
    request: required(1, string, "Name of the request, or of it and a sub-request."),
    driver: required(2, string, "Driver of the device."),
    pool: required(3, string, "Pool of the device."),
    device: required(4, string, "Name of the device."),
    adminAccess: pointer(5, bool, "For who looks after it.", { gate: "DRAAdminAccess" }),
    tolerations: value(6, list(deviceToleration), "Taints that did not matter.", atomic),
    bindingConditions: value(7, list(string), "Conditions that pods wait for.", {
      ...atomic,
      gate: gates.binding,
    }),
    bindingFailureConditions: value(8, list(string), "Conditions on which to give up.", {
      ...atomic,
      gate: gates.binding,
    }),
    shareID: pointer(9, string, "Names a share of the device.", { gate: gates.capacity }),
    consumedCapacity: value(10, map(quantity), "Amounts that are used.", { gate: gates.capacity }),
  });

const allocationStruct = (structs: Shared) => {
  const { declare, deviceConfiguration } = structs;
  const configuration = declare("DeviceAllocationConfiguration", "How devices are set up.", {
    source: required(1, string, "FromClass or FromClaim."),
    requests: value(2, list(string), "For which requests; none means all.", atomic),
    deviceConfiguration: inline(3, deviceConfiguration, "The setup.", {
      protoName: "deviceConfiguration",
    }),
  });
  const devices = declare("DeviceAllocationResult", "Devices, and how they are set up.", {
    results: value(1, list(resultStruct(structs)), "The devices.", atomic),
    config: value(2, list(configuration), "How they are set up.", atomic),
  });
  return declare("AllocationResult", "What the claim got.", {
    devices: value(1, devices, "The devices."),
    nodeSelector: pointer(3, nodeSelector, "Nodes they can be used on; absent: all."),
    allocationTimestamp: pointer(5, time, "When it got them.", { gate: gates.binding }),
  });
};

const deviceStatusStruct = ({ declare }: Shared) => {
  const network = declare("NetworkDeviceData", "What a network device says about itself.", {
    interfaceName: value(1, string, "Name of the interface."),
    ips: value(2, list(string), "Its addresses, with prefix lengths.", atomic),
    hardwareAddress: value(3, string, "Its MAC address, for example."),
  });
  return declare("AllocatedDeviceStatus", "How a device of the claim is.", {
    driver: required(1, string, "Driver of the device."),
    pool: required(2, string, "Pool of the device."),
    device: required(3, string, "Name of the device."),
    shareID: pointer(7, string, "Names a share of the device.", { gate: gates.capacity }),
    conditions: required(4, list(condition), "What holds.", {
      listType: "map",
      listMapKeys: ["type"],
      required: false,
    }),
    data: pointer(5, rawExtension, "Whatever the driver has to say."),
    networkData: pointer(6, network, "For network devices."),
  });
};

const statusStruct = (structs: Shared) => {
  const { declare } = structs;
  const consumer = declare("ResourceClaimConsumerReference", "Who uses the claim.", {
    apiGroup: value(1, string, "Its API group."),
    resource: required(3, string, "Its resource, such as `pods`."),
    name: required(4, string, "Its name."),
    uid: required(5, string, "Its UID."),
  });
  return declare("ResourceClaimStatus", "What the claim got, and who uses it.", {
    allocation: pointer(1, allocationStruct(structs), "What it got; fixed until given back."),
    reservedFor: value(2, list(consumer), "Who may use it.", {
      listType: "map",
      listMapKeys: ["uid"],
      patchStrategy: ["merge"],
      patchMergeKey: "uid",
    }),
    devices: value(4, list(deviceStatusStruct(structs)), "How each device is.", {
      listType: "map",
      listMapKeys: ["driver", "device", "pool", "shareID"],
      gate: "DRAResourceClaimDeviceStatus",
    }),
  });
};

const specStruct = <R extends StructType<any>>(structs: Shared, request: R) => {
  const { declare, deviceConfiguration } = structs;
  const constraint = declare("DeviceConstraint", "What must hold for several devices.", {
    requests: value(1, list(string), "Devices of which requests; none means all.", atomic),
    matchAttribute: pointer(2, string, "Attribute in which they must be alike."),
    distinctAttribute: pointer(3, string, "Attribute in which they must differ.", {
      gate: gates.capacity,
    }),
  });
  const configuration = declare("DeviceClaimConfiguration", "How devices are set up.", {
    requests: value(1, list(string), "For which requests; none means all.", atomic),
    deviceConfiguration: inline(2, deviceConfiguration, "The setup.", {
      protoName: "deviceConfiguration",
    }),
  });
  const devices = declare("DeviceClaim", "Devices that are asked for.", {
    requests: required(1, list(request), "The devices.", { ...atomic, required: false }),
    constraints: value(2, list(constraint), "What must hold for them together.", atomic),
    config: value(3, list(configuration), "How they are set up.", atomic),
  });
  return declare("ResourceClaimSpec", "What is asked for.", {
    devices: required(1, devices, "The devices.", { required: false }),
  });
};

const claimStructs = <R extends StructType<any>>(structs: Shared, request: R) => {
  const { declare } = structs;
  const spec = specStruct(structs, request);
  const template = declare("ResourceClaimTemplateSpec", "What claims are made like.", {
    metadata: value(1, objectMeta, "Labels and annotations for the claims."),
    spec: required(2, spec, "What they ask for."),
  });
  return {
    resourceClaim: declare("ResourceClaim", "A claim to devices, for pods to use.", {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: required(2, spec, "What is asked for; fixed."),
      status: value(3, statusStruct(structs), "What it got, and who uses it."),
    }),
    resourceClaimTemplate: declare("ResourceClaimTemplate", "Makes a claim for each pod.", {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: required(2, template, "What the claims are made like; fixed."),
    }),
  };
};

export const claimsV1 = claimStructs(shared.v1, requestStruct(shared.v1));
export const claimsV1beta1 = claimStructs(shared.v1beta1, flatRequestStruct(shared.v1beta1));
export const claimsV1beta2 = claimStructs(shared.v1beta2, requestStruct(shared.v1beta2));

export type ResourceClaim = Infer<typeof claimsV1beta2.resourceClaim>;
export type ClaimTemplate = Infer<typeof claimsV1beta2.resourceClaimTemplate>;
export type ResourceClaimV1beta1 = Infer<typeof claimsV1beta1.resourceClaim>;
export type ClaimTemplateV1beta1 = Infer<typeof claimsV1beta1.resourceClaimTemplate>;
export type ClaimSpec = ResourceClaim["spec"];
export type DeviceRequest = NonNullable<ClaimSpec["devices"]["requests"]>[number];
export type ClaimStatus = ResourceClaim["status"];
export type Allocation = NonNullable<ClaimStatus["allocation"]>;
export type ClaimSpecV1beta1 = ResourceClaimV1beta1["spec"];
export type DeviceRequestV1beta1 = NonNullable<ClaimSpecV1beta1["devices"]["requests"]>[number];
