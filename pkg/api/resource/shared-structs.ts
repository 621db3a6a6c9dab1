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
  const celDeviceSelector = declare("CELDeviceSelector", "Selects devices by a CEL expression.", {
    expression: required(
      1,
      string,
      "CEL expression that must be true, at most 10 KiB. `device` has the fields driver, " +
        "attributes and capacity.",
    ),
  });
  return declare("DeviceSelector", "Criterion for devices. Exactly one field must be set.", {
    cel: pointer(1, celDeviceSelector, "CEL expression that decides."),
  });
};

export const taintStruct = (declare: Declare, version: string) =>
  declare("DeviceTaint", "Taint of a device, which repels claims that do not tolerate it.", {
    key: required(1, string, "Key of the taint, a qualified name such as `example.com/gpu`."),
    value: value(2, string, "Value of the taint, a label value of at most 63 characters."),
    effect: required(
      3,
      effectOf(version),
      "Effect on claims without a matching toleration: one of NoSchedule (not allocated), " +
        "NoExecute (not allocated, and pods that use the device are evicted).",
    ),
    timeAdded: pointer(4, time, "Time at which the taint was added. Defaults to the current time."),
  });

const configurationStruct = (declare: Declare) => {
  const opaque = declare(
    "OpaqueDeviceConfiguration",
    "Configuration in a format that only the driver understands.",
    {
      driver: required(1, string, "Name of the DRA driver that the parameters are for."),
      parameters: required(
        2,
        rawExtension,
        "Object with apiVersion and kind for the driver, at most 10 KiB.",
      ),
    },
  );
  return declare(
    "DeviceConfiguration",
    "Configuration of devices. Exactly one field must be set.",
    {
      opaque: pointer(1, opaque, "Parameters in the format of a driver."),
    },
  );
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
      "Effect of the taint: one of NoSchedule, NoExecute. Empty matches every effect.",
    ),
    tolerationSeconds: pointer(
      5,
      int64,
      "Seconds for which a NoExecute taint is tolerated. Unlimited when absent; 0 and " +
        "negative evict at once.",
    ),
  });

const capacityPolicyStruct = (declare: Declare) => {
  const range = declare(
    "CapacityRequestPolicyRange",
    "Range of amounts that a claim may consume.",
    {
      min: pointer(
        1,
        quantity,
        "Smallest amount that can be requested. Lower requests are rounded up to it. Required.",
        { required: true },
      ),
      max: pointer(
        2,
        quantity,
        "Largest amount that can be requested. Defaults to the capacity of the device.",
      ),
      step: pointer(
        3,
        quantity,
        "Distance between valid amounts, starting at min. Requests are rounded up to the next one.",
      ),
    },
  );
  return declare(
    "CapacityRequestPolicy",
    "Amounts of a capacity that a claim may consume. At most one of validValues and " +
      "validRange may be set.",
    {
      default: nullablePointer(
        1,
        quantity,
        "Amount that is consumed when a request names none. Must be valid under the policy.",
        { required: false },
      ),
      validValues: value(
        3,
        list(quantity),
        "Amounts that are allowed, ascending, at most 10. Requests are rounded up to the next one.",
        atomic,
      ),
      validRange: pointer(4, range, "Range of amounts that are allowed."),
    },
  );
};

/** Structs of device attributes and capacity. */
const contentStructs = (declare: Declare) => {
  const counter = declare("Counter", "Amount of a resource that several devices share.", {
    value: required(1, quantity, "Amount that is available or consumed."),
  });
  return {
    counterSet: declare(
      "CounterSet",
      "Named set of counters from which partitions of a device draw.",
      {
        name: required(1, string, "Name of the set: a DNS label, unique within the slice."),
        counters: value(2, map(counter), "Counters by name. Required.", { required: true }),
      },
    ),
    deviceAttribute: declare(
      "DeviceAttribute",
      "Value of a device attribute. Exactly one field must be set.",
      {
        int: pointer(2, int64, "Value as an integer."),
        bool: pointer(3, bool, "Value as a boolean, true or false."),
        string: pointer(4, string, "Value as a string, at most 64 characters."),
        version: pointer(5, string, "Value as a semantic version 2.0.0, at most 64 characters."),
      },
    ),
    deviceCapacity: declare("DeviceCapacity", "Capacity of a device in one dimension.", {
      value: required(1, quantity, "Total amount of the capacity."),
      requestPolicy: pointer(
        2,
        capacityPolicyStruct(declare),
        "Amounts that claims may consume when the device is shared. Alpha: requires the " +
          "feature gate DRAConsumableCapacity.",
        {
          gate: gates.capacity,
        },
      ),
    }),
    deviceCounterConsumption: declare(
      "DeviceCounterConsumption",
      "Counters that a device consumes from one set.",
      {
        counterSet: required(1, string, "Name of the counter set in sharedCounters of the pool."),
        counters: value(2, map(counter), "Amounts consumed by counter name. Required.", {
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
    capacityRequirements: declare(
      "CapacityRequirements",
      "Smallest capacity that a request needs.",
      {
        requests: value(
          1,
          map(quantity),
          "Amounts by capacity name. Only devices with at least that much qualify.",
        ),
      },
    ),
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
