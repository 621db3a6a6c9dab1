/** Structs of ResourceClaim and ResourceClaimTemplate. */
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
import { condition, objectMeta, quantity, rawExtension, time, uid } from "#meta";
import { nodeSelector } from "../../core/pod/spec/scheduling.ts";
import { atomic, gates, shared, type Shared } from "../shared-structs.ts";

/**
 * Fields of device requests whose numbers are the same in all versions.
 * @param from the first number
 */
const requestFields = (structs: Shared, from: number) => ({
  deviceClassName: required(from, string, "DeviceClass that the devices must belong to. Required."),
  selectors: value(
    from + 1,
    list(structs.deviceSelector),
    "Criteria that a device must meet in addition to those of its class. At most 32.",
    atomic,
  ),
  allocationMode: value(
    from + 2,
    string,
    "How many devices to allocate: ExactCount (as count says) or All (every matching " +
      "device of a pool; fails if one is in use). Defaults to ExactCount.",
  ),
  count: value(
    from + 3,
    int64,
    "Number of devices for allocationMode ExactCount. Must be greater than 0. Defaults to 1.",
  ),
});

const adminAccess = (number: number) =>
  pointer(
    number,
    bool,
    "Whether to access devices for administration, even when other claims use them. Needs " +
      "a namespace with the admin-access label. Beta: feature gate DRAAdminAccess.",
    {
      gate: "DRAAdminAccess",
    },
  );

const neededFields = (structs: Shared, from: number) => ({
  tolerations: value(
    from,
    list(structs.deviceToleration),
    "Device taints that the request tolerates. Alpha: requires the feature gate DRADeviceTaints.",
    atomic,
  ),
  capacity: pointer(
    from + 1,
    structs.capacityRequirements,
    "Capacity that the request needs from each device. Alpha: requires the feature gate " +
      "DRAConsumableCapacity.",
    {
      gate: gates.capacity,
    },
  ),
});

const firstAvailable = (structs: Shared, { number, from }: { number: number; from: number }) => {
  const way = structs.declare("DeviceSubRequest", "Alternative way to satisfy a DeviceRequest.", {
    name: required(
      1,
      string,
      "Name of the alternative: a DNS label. Containers and results refer to it as " +
        "`<request>/<name>`.",
    ),
    ...requestFields(structs, 2),
    ...neededFields(structs, from),
  });
  return value(
    number,
    list(way),
    "Alternatives in order of preference, at most 8; the first that can be satisfied is " +
      "used. Beta: feature gate DRAPrioritizedList.",
    {
      ...atomic,
      gate: "DRAPrioritizedList",
    },
  );
};

const requestName = required(
  1,
  string,
  "Name of the request: a DNS label, unique within the claim.",
);

const requestStruct = (structs: Shared) => {
  const exact = structs.declare("ExactDeviceRequest", "Request for devices of a single class.", {
    ...requestFields(structs, 1),
    adminAccess: adminAccess(5),
    ...neededFields(structs, 6),
  });
  return structs.declare(
    "DeviceRequest",
    "Request for one or more devices. Exactly one of a direct request and firstAvailable " +
      "must be set.",
    {
      name: requestName,
      exactly: pointer(
        2,
        exact,
        "Direct request for devices of one class. Mutually exclusive with firstAvailable.",
      ),
      firstAvailable: firstAvailable(structs, { number: 3, from: 6 }),
    },
  );
};

const flatRequestStruct = (structs: Shared) => {
  const { deviceClassName, ...asked } = requestFields(structs, 2);
  return structs.declare(
    "DeviceRequest",
    "Request for one or more devices. Exactly one of a direct request and firstAvailable " +
      "must be set.",
    {
      name: requestName,
      deviceClassName: { ...deviceClassName, required: false },
      ...asked,
      adminAccess: adminAccess(6),
      firstAvailable: firstAvailable(structs, { number: 7, from: 7 }),
      ...neededFields(structs, 8),
    },
  );
};

const resultStruct = ({ declare, deviceToleration }: Shared) =>
  declare("DeviceRequestAllocationResult", "One device that was allocated for a request.", {
    request: required(
      1,
      string,
      "Name of the request, or `<request>/<alternative>` for one from firstAvailable.",
    ),
    driver: required(2, string, "Name of the DRA driver that manages the device."),
    pool: required(3, string, "Name of the pool that contains the device."),
    device: required(4, string, "Name of the device within the pool."),
    adminAccess: pointer(
      5,
      bool,
      "Whether the device was allocated for administration only. Beta: feature gate DRAAdminAccess.",
      { gate: "DRAAdminAccess" },
    ),
    tolerations: value(
      6,
      list(deviceToleration),
      "Tolerations of the request when the device was allocated. Alpha: requires the feature " +
        "gate DRADeviceTaints.",
      atomic,
    ),
    bindingConditions: value(
      7,
      list(string),
      "Conditions that must be True in the device status before the pod is bound. Copied " +
        "from the device. Alpha: requires the feature gate DRADeviceBindingConditions.",
      {
        ...atomic,
        gate: gates.binding,
      },
    ),
    bindingFailureConditions: value(
      8,
      list(string),
      "Conditions of which none may be True; otherwise the allocation is given up. Alpha: " +
        "requires the feature gate DRADeviceBindingConditions.",
      {
        ...atomic,
        gate: gates.binding,
      },
    ),
    shareID: pointer(
      9,
      uid,
      "Identifier of this share of a device that several claims use. Alpha: requires the " +
        "feature gate DRAConsumableCapacity.",
      { gate: gates.capacity },
    ),
    consumedCapacity: value(
      10,
      map(quantity),
      "Capacity of the device that this share consumes, rounded as the device's policy " +
        "requires. Alpha: requires the feature gate DRAConsumableCapacity.",
      { gate: gates.capacity },
    ),
  });

const allocationStruct = (structs: Shared) => {
  const { declare, deviceConfiguration } = structs;
  const configuration = declare(
    "DeviceAllocationConfiguration",
    "Configuration of allocated devices, and where it came from.",
    {
      source: required(1, string, "Origin of the configuration: FromClass or FromClaim."),
      requests: value(
        2,
        list(string),
        "Names of the requests to which the configuration applies. Empty means all.",
        atomic,
      ),
      deviceConfiguration: inline(3, deviceConfiguration, "Parameters for the driver.", {
        protoName: "deviceConfiguration",
      }),
    },
  );
  const devices = declare(
    "DeviceAllocationResult",
    "Devices that were allocated to a claim, with their configuration.",
    {
      results: value(1, list(resultStruct(structs)), "Allocated devices, at most 32.", atomic),
      config: value(
        2,
        list(configuration),
        "Configuration from classes and claim. Parameters of the claim follow those of the " +
          "classes and take precedence.",
        atomic,
      ),
    },
  );
  return declare("AllocationResult", "Result of allocating a claim.", {
    devices: value(1, devices, "Devices and their configuration."),
    nodeSelector: pointer(
      3,
      nodeSelector,
      "Nodes on which the allocated devices are available. Absent means all nodes.",
    ),
    allocationTimestamp: pointer(
      5,
      time,
      "Time at which the devices were allocated. Alpha: requires the feature gate " +
        "DRADeviceBindingConditions.",
      { gate: gates.binding },
    ),
  });
};

const deviceStatusStruct = ({ declare }: Shared) => {
  const network = declare("NetworkDeviceData", "Network data of an allocated device.", {
    interfaceName: value(
      1,
      string,
      "Name of the network interface inside the pod, at most 256 characters.",
    ),
    ips: value(
      2,
      list(string),
      "IP addresses of the interface with prefix length, for example `192.0.2.5/24`. At most 16.",
      atomic,
    ),
    hardwareAddress: value(
      3,
      string,
      "Hardware address of the interface, for example a MAC address. At most 128 characters.",
    ),
  });
  return declare(
    "AllocatedDeviceStatus",
    "State of an allocated device, as reported by its driver.",
    {
      driver: required(1, string, "Name of the DRA driver that manages the device."),
      pool: required(2, string, "Name of the pool that contains the device."),
      device: required(3, string, "Name of the device within the pool."),
      shareID: pointer(
        7,
        string,
        "Identifier of the share of the device. Alpha: requires the feature gate " +
          "DRAConsumableCapacity.",
        { gate: gates.capacity },
      ),
      conditions: required(
        4,
        list(condition),
        "Latest observed conditions of the device, at most 8.",
        {
          listType: "map",
          listMapKeys: ["type"],
          required: false,
        },
      ),
      data: pointer(5, rawExtension, "Arbitrary data of the driver, at most 10 KiB."),
      networkData: pointer(6, network, "Addresses of a network device."),
    },
  );
};

const statusStruct = (structs: Shared) => {
  const { declare } = structs;
  const consumer = declare("ResourceClaimConsumerReference", "Object that may use a claim.", {
    apiGroup: value(1, string, "API group of the referenced object. Empty for the core group."),
    resource: required(3, string, "Resource of the object in plural, for example `pods`."),
    name: required(4, string, "Name of the referenced object."),
    uid: required(5, uid, "UID of the referenced object."),
  });
  return declare("ResourceClaimStatus", "Observed state of a ResourceClaim.", {
    allocation: pointer(
      1,
      allocationStruct(structs),
      "Devices that were allocated. Absent until then. Immutable until it is cleared.",
    ),
    reservedFor: value(
      2,
      list(consumer),
      "Objects, usually pods, that may use the claim: at most 256. The claim must be allocated.",
      {
        listType: "map",
        listMapKeys: ["uid"],
        patchStrategy: ["merge"],
        patchMergeKey: "uid",
      },
    ),
    devices: value(
      4,
      list(deviceStatusStruct(structs)),
      "State of each allocated device, reported by the drivers. Beta: feature gate " +
        "DRAResourceClaimDeviceStatus.",
      {
        listType: "map",
        listMapKeys: ["driver", "device", "pool", "shareID"],
        gate: "DRAResourceClaimDeviceStatus",
      },
    ),
  });
};

const specStruct = <R extends StructType<any>>(structs: Shared, request: R) => {
  const { declare, deviceConfiguration } = structs;
  const constraint = declare(
    "DeviceConstraint",
    "Condition across several devices. Exactly one attribute must be given.",
    {
      requests: value(
        1,
        list(string),
        "Names of the requests whose devices are compared. Empty means all.",
        atomic,
      ),
      matchAttribute: pointer(
        2,
        string,
        "Fully qualified attribute that must have the same value on all devices. Devices " +
          "without it do not qualify.",
      ),
      distinctAttribute: pointer(
        3,
        string,
        // Kubernetes keeps the field where the gate is off.
        "Fully qualified attribute that must have a different value on each device. Alpha: " +
          "has an effect with the feature gate DRAConsumableCapacity.",
      ),
    },
  );
  const configuration = declare(
    "DeviceClaimConfiguration",
    "Configuration of devices in a claim.",
    {
      requests: value(
        1,
        list(string),
        "Names of the requests to which the configuration applies. Empty means all.",
        atomic,
      ),
      deviceConfiguration: inline(2, deviceConfiguration, "Parameters for the driver.", {
        protoName: "deviceConfiguration",
      }),
    },
  );
  const devices = declare("DeviceClaim", "Devices that a claim requests.", {
    requests: required(
      1,
      list(request),
      "Requests for devices, at most 32. All must be satisfied.",
      { ...atomic, required: false },
    ),
    constraints: value(
      2,
      list(constraint),
      "Conditions across the devices of several requests, at most 32.",
      atomic,
    ),
    config: value(
      3,
      list(configuration),
      "Parameters for the drivers of the devices, at most 32.",
      atomic,
    ),
  });
  return declare("ResourceClaimSpec", "Desired devices of a ResourceClaim.", {
    devices: required(1, devices, "Requests, constraints and configuration.", { required: false }),
  });
};

const claimStructs = <R extends StructType<any>>(structs: Shared, request: R) => {
  const { declare } = structs;
  const spec = specStruct(structs, request);
  const template = declare(
    "ResourceClaimTemplateSpec",
    "Template of the ResourceClaims for pods.",
    {
      metadata: value(1, objectMeta, "Labels and annotations of each claim."),
      spec: required(2, spec, "Specification that each claim starts with."),
    },
  );
  return {
    resourceClaim: declare(
      "ResourceClaim",
      "ResourceClaim requests devices for pods through dynamic resource allocation.",
      {
        metadata: value(1, objectMeta, "Standard object metadata."),
        spec: required(2, spec, "Devices to allocate. Immutable."),
        status: value(
          3,
          statusStruct(structs),
          "Allocated devices and their consumers. Read-only.",
        ),
      },
    ),
    resourceClaimTemplate: declare(
      "ResourceClaimTemplate",
      "ResourceClaimTemplate creates a ResourceClaim for each pod that refers to it.",
      {
        metadata: value(1, objectMeta, "Standard object metadata."),
        spec: required(2, template, "Claim to create. Immutable."),
      },
    ),
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
