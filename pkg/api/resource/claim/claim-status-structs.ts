/** Struct ResourceClaimStatus: allocated devices, and their status as drivers report it. */
import { required, bool, inline, list, map, pointer, value, string, mergedBy } from "#schema";
import { condition, quantity, rawExtension, time, uid } from "#meta";
import { nodeSelector } from "../../core/pod/spec/scheduling.ts";
import { atomic, gates, type Shared } from "../shared-structs.ts";

const resultStruct = ({ declare, deviceToleration }: Shared) =>
  declare("DeviceRequestAllocationResult", "Device that was allocated for a request.", {
    request: required(
      1,
      string,
      "Name of the request, or `<request>/<subrequest>` for one of firstAvailable.",
    ),
    driver: required(2, string, "Name of the DRA driver of the device."),
    pool: required(3, string, "Name of the pool of the device."),
    device: required(4, string, "Name of the device within the pool."),
    adminAccess: pointer(
      5,
      bool,
      "Whether the device was allocated for administrative access. Beta: feature gate " +
        "DRAAdminAccess.",
      { gate: "DRAAdminAccess" },
    ),
    tolerations: value(
      6,
      list(deviceToleration),
      "Tolerations of the request, copied when the device was allocated. Alpha: requires the " +
        "feature gate DRADeviceTaints.",
      atomic,
    ),
    bindingConditions: value(
      7,
      list(string),
      "Conditions that must be True in the status of the device for the pod to be bound. " +
        "Copied from the ResourceSlice. Alpha: requires the feature gate " +
        "DRADeviceBindingConditions.",
      {
        ...atomic,
        gate: gates.binding,
      },
    ),
    bindingFailureConditions: value(
      8,
      list(string),
      "Conditions in the status of the device of which any being True is a binding failure: " +
        "the claim is deallocated. Copied from the ResourceSlice. Alpha: requires the feature " +
        "gate DRADeviceBindingConditions.",
      {
        ...atomic,
        gate: gates.binding,
      },
    ),
    shareID: pointer(
      9,
      uid,
      "UID of this share of a device that allows multiple allocations. Alpha: requires the " +
        "feature gate DRAConsumableCapacity.",
      { gate: gates.capacity },
    ),
    consumedCapacity: value(
      10,
      map(quantity),
      "Capacity of the device that the request consumes, by name, rounded according to the " +
        "request policy. Alpha: requires the feature gate DRAConsumableCapacity.",
      { gate: gates.capacity },
    ),
  });

const allocationStruct = (structs: Shared) => {
  const { declare, deviceConfiguration } = structs;
  const configuration = declare(
    "DeviceAllocationConfiguration",
    "Configuration of allocated devices, and its origin.",
    {
      source: required(1, string, "Origin of the configuration: FromClass or FromClaim."),
      requests: value(
        2,
        list(string),
        "Names of the requests, or `<request>/<subrequest>`, to which the configuration " +
          "applies. If empty, all requests.",
        atomic,
      ),
      deviceConfiguration: inline(
        3,
        deviceConfiguration,
        "Configuration parameters of the driver.",
        {
          protoName: "deviceConfiguration",
        },
      ),
    },
  );
  const devices = declare(
    "DeviceAllocationResult",
    "Allocation of devices to a claim, with their configuration.",
    {
      results: value(
        1,
        list(resultStruct(structs)),
        "Allocated devices, one item per device. At most 32.",
        atomic,
      ),
      config: value(
        2,
        list(configuration),
        "Configuration of the devices: that of the classes, followed by that of the claim, " +
          "which takes precedence.",
        atomic,
      ),
    },
  );
  return declare("AllocationResult", "Result of the allocation of a claim.", {
    devices: value(1, devices, "Allocated devices and their configuration."),
    nodeSelector: pointer(
      3,
      nodeSelector,
      "Nodes on which the allocated devices are available. If absent, all nodes.",
    ),
    allocationTimestamp: pointer(
      5,
      time,
      "Time at which the claim was allocated. Alpha: requires the feature gate " +
        "DRADeviceBindingConditions.",
      { gate: gates.binding },
    ),
  });
};

const deviceStatusStruct = ({ declare }: Shared) => {
  const network = declare(
    "NetworkDeviceData",
    "Network-related information about an allocated device.",
    {
      interfaceName: value(
        1,
        string,
        "Name of the network interface in the pod, at most 256 characters.",
      ),
      ips: value(
        2,
        list(string),
        "IP addresses of the interface in CIDR notation, for example `192.0.2.5/24`. At most 16.",
        atomic,
      ),
      hardwareAddress: value(
        3,
        string,
        "Hardware address of the interface, such as its MAC address. At most 128 characters.",
      ),
    },
  );
  return declare(
    "AllocatedDeviceStatus",
    "Status of an allocated device, reported by its driver.",
    {
      driver: required(1, string, "Name of the DRA driver of the device."),
      pool: required(2, string, "Name of the pool of the device."),
      device: required(3, string, "Name of the device within the pool."),
      shareID: pointer(
        7,
        string,
        "UID of the share of the device. Alpha: requires the feature gate DRAConsumableCapacity.",
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
      data: pointer(5, rawExtension, "Arbitrary driver-specific data, at most 10 KiB."),
      networkData: pointer(6, network, "Network-related information, for network devices."),
    },
  );
};

export const statusStruct = (structs: Shared) => {
  const { declare } = structs;
  const consumer = declare(
    "ResourceClaimConsumerReference",
    "Reference to an object that is allowed to use a claim.",
    {
      apiGroup: value(1, string, "API group of the referenced object. Empty for the core group."),
      resource: required(
        3,
        string,
        "Resource of the referenced object in lowercase plural, for example `pods`.",
      ),
      name: required(4, string, "Name of the referenced object."),
      uid: required(5, uid, "UID of the referenced object."),
    },
  );
  return declare("ResourceClaimStatus", "Observed state of a ResourceClaim.", {
    allocation: pointer(
      1,
      allocationStruct(structs),
      "Result of the allocation. Absent until the claim is allocated. Immutable until " +
        "deallocation.",
    ),
    reservedFor: value(
      2,
      list(consumer),
      "Objects, usually pods, that are allowed to use the claim, at most 256. Pods are not " +
        "started unless they are listed.",
      mergedBy("uid"),
    ),
    devices: value(
      4,
      list(deviceStatusStruct(structs)),
      "Status of each allocated device, reported by its driver. Beta: feature gate " +
        "DRAResourceClaimDeviceStatus.",
      {
        listType: "map",
        listMapKeys: ["driver", "device", "pool", "shareID"],
        gate: "DRAResourceClaimDeviceStatus",
      },
    ),
  });
};
