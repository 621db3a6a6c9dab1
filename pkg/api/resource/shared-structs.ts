/** Device structs that are identical in all versions. */
import {
  required,
  bool,
  type Infer,
  int64,
  list,
  map,
  named,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { quantity, rawExtension, time } from "#meta";

export const atomic = { listType: "atomic" } as const;

/** Versions that use these structs. */
export type Version = "v1" | "v1beta1" | "v1beta2";

/** Feature gates of fields. */
export const gates = {
  binding: "DRADeviceBindingConditions,DRAResourceClaimDeviceStatus",
  capacity: "DRAConsumableCapacity",
  partitions: "DRAPartitionableDevices",
  taints: "DRADeviceTaints",
} as const;

const effectOf = (version: string) =>
  named(`${version}.DeviceTaintEffect`, "NoSchedule", "NoExecute");

type Declare = ReturnType<typeof structs>;

export const selectorStructs = (declare: Declare) => {
  const celDeviceSelector = declare("CELDeviceSelector", "CEL expression that selects devices.", {
    expression: required(
      1,
      string,
      "CEL expression that evaluates to true for a suitable device, at most 10 KiB. The " +
        "variable `device` has the fields driver, attributes and capacity.",
    ),
  });
  return declare("DeviceSelector", "Selector for devices. Exactly one field must be set.", {
    cel: pointer(1, celDeviceSelector, "CEL expression for selecting devices."),
  });
};

export const taintStruct = (declare: Declare, version: string) =>
  declare("DeviceTaint", "Taint of a device, which affects pods whose claims do not tolerate it.", {
    key: required(1, string, "Key of the taint, a qualified name such as `example.com/gpu`."),
    value: value(2, string, "Value of the taint, a label value of at most 63 characters."),
    effect: required(
      3,
      effectOf(version),
      "Effect on claims and pods without a matching toleration: one of NoSchedule (the device " +
        "is not allocated), NoExecute (and pods that use it are evicted).",
    ),
    timeAdded: pointer(
      4,
      time,
      "Time at which the taint was added. Set by the API server if absent.",
    ),
  });

const configurationStruct = (declare: Declare) => {
  const opaque = declare(
    "OpaqueDeviceConfiguration",
    "Configuration parameters in a format that the driver defines.",
    {
      driver: required(1, string, "Name of the DRA driver to which the parameters are passed."),
      parameters: required(
        2,
        rawExtension,
        "Arbitrary object, with apiVersion and kind, that is passed to the driver. At most 10 KiB.",
      ),
    },
  );
  return declare("DeviceConfiguration", "Device configuration. Exactly one field must be set.", {
    opaque: pointer(1, opaque, "Driver-specific configuration parameters."),
  });
};

const tolerationStruct = (declare: Declare, version: Version) =>
  declare("DeviceToleration", "Tolerates device taints that match key, value and effect.", {
    key: value(
      1,
      string,
      "Taint key to match. Empty matches all keys; the operator must then be Exists.",
    ),
    operator: value(
      2,
      named(`${version}.DeviceTolerationOperator`, "Exists", "Equal"),
      "Relationship of the key to the value: one of Exists (any value), Equal. Defaults to Equal.",
      { default: "Equal", openApi: { default: true } },
    ),
    value: value(3, string, "Taint value to match. Must be empty for operator Exists."),
    effect: value(
      4,
      effectOf(version),
      "Taint effect to match: one of NoSchedule, NoExecute. Empty matches all effects.",
    ),
    tolerationSeconds: pointer(
      5,
      int64,
      "Seconds for which a taint with effect NoExecute is tolerated before the pod is evicted. " +
        "Forever if absent; 0 and negative values evict it immediately.",
    ),
  });

const capacityPolicyStruct = (declare: Declare) => {
  const range = declare("CapacityRequestPolicyRange", "Range of valid amounts of a capacity.", {
    min: pointer(1, quantity, "Minimum amount. Lower requests are rounded up to it. Required.", {
      required: true,
    }),
    max: pointer(2, quantity, "Maximum amount. Defaults to the capacity of the device."),
    step: pointer(
      3,
      quantity,
      "Step between valid amounts, starting at min. Requests are rounded up to the next step.",
    ),
  });
  return declare(
    "CapacityRequestPolicy",
    "Policy for the amounts of a capacity that requests consume. At most one of validValues " +
      "and validRange may be set.",
    {
      default: nullablePointer(
        1,
        quantity,
        "Amount that requests consume if they specify none. Must be valid under the policy.",
        { required: false },
      ),
      validValues: value(
        3,
        list(quantity),
        "Valid amounts in ascending order, at most 10. Requests are rounded up to the next of " +
          "them.",
        atomic,
      ),
      validRange: pointer(4, range, "Range of valid amounts."),
    },
  );
};

/** Structs of device attributes and capacity. */
const contentStructs = (declare: Declare) => {
  const counter = declare("Counter", "Amount of a countable resource that devices share.", {
    value: required(1, quantity, "Available or consumed amount."),
  });
  return {
    counterSet: declare(
      "CounterSet",
      "Named set of counters that the devices of a pool share, such as partitions of one " +
        "physical device.",
      {
        name: required(1, string, "Name of the counter set: a DNS label, unique within the slice."),
        counters: value(2, map(counter), "Counters in the set, by name. Required.", {
          required: true,
        }),
      },
    ),
    deviceAttribute: declare(
      "DeviceAttribute",
      "Value of a device attribute. Exactly one field must be set.",
      {
        int: pointer(2, int64, "Value as an integer."),
        bool: pointer(3, bool, "Value as a boolean, true or false."),
        string: pointer(4, string, "Value as a string, at most 64 characters."),
        version: pointer(
          5,
          string,
          "Value as a semantic version (semver.org 2.0.0), at most 64 characters.",
        ),
      },
    ),
    deviceCapacity: declare("DeviceCapacity", "One capacity of a device.", {
      value: required(1, quantity, "Amount that the device has."),
      requestPolicy: pointer(
        2,
        capacityPolicyStruct(declare),
        "Policy for the amounts that requests consume of a device that allows multiple " +
          "allocations. Alpha: requires the feature gate DRAConsumableCapacity.",
        {
          gate: gates.capacity,
        },
      ),
    }),
    deviceCounterConsumption: declare(
      "DeviceCounterConsumption",
      "Counters that a device consumes from a counter set.",
      {
        counterSet: required(1, string, "Name of the counter set, as in sharedCounters."),
        counters: value(2, map(counter), "Consumed amounts, by counter name. Required.", {
          required: true,
        }),
      },
    ),
  };
};

function sharedStructs(version: Version) {
  const declare = structs(`api/resource/${version}`);
  return {
    declare,
    deviceConfiguration: configurationStruct(declare),
    deviceToleration: tolerationStruct(declare, version),
    deviceSelector: selectorStructs(declare),
    capacityRequirements: declare("CapacityRequirements", "Capacity requirements of a request.", {
      requests: value(
        1,
        map(quantity),
        "Requested amounts by capacity name. Devices must have at least that much available.",
      ),
    }),
    deviceTaint: taintStruct(declare, version),
    ...contentStructs(declare),
  };
}

export type Shared = ReturnType<typeof sharedStructs>;

/** Structs by version. */
export const shared = {
  v1: sharedStructs("v1"),
  v1beta1: sharedStructs("v1beta1"),
  v1beta2: sharedStructs("v1beta2"),
};

export type DeviceSelector = Infer<Shared["deviceSelector"]>;
export type DeviceTaint = Infer<Shared["deviceTaint"]>;
export type DeviceToleration = Infer<Shared["deviceToleration"]>;
export type DeviceConfiguration = Infer<Shared["deviceConfiguration"]>;
export type DeviceAttribute = Infer<Shared["deviceAttribute"]>;
export type DeviceCapacity = Infer<Shared["deviceCapacity"]>;
