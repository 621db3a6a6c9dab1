/** Structs of devices that look the same in every version. */
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

/** Versions whose structs are made here. */
export type Version = "v1" | "v1beta1" | "v1beta2";

/** Feature gates, as the fields that depend on them name them. */
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
  const celDeviceSelector = declare("CELDeviceSelector", "Devices that an expression picks.", {
    expression: required(1, string, "CEL expression over `device` that must be true."),
  });
  return declare("DeviceSelector", "Devices that fit.", {
    cel: pointer(1, celDeviceSelector, "Picks by an expression."),
  });
};

export const taintStruct = (declare: Declare, version: string) =>
  declare("DeviceTaint", "Keeps everybody who does not tolerate it from using devices.", {
    key: required(1, string, "Its key, like a label's."),
    value: value(2, string, "Its value, like a label's."),
    effect: required(3, effectOf(version), "NoSchedule, or NoExecute: also who uses them already."),
    timeAdded: pointer(4, time, "When it was added; filled in when absent."),
  });

const configurationStruct = (declare: Declare) => {
  const opaque = declare("OpaqueDeviceConfiguration", "Parameters only a driver understands.", {
    driver: required(1, string, "The driver."),
    parameters: required(2, rawExtension, "The parameters: an object with apiVersion and kind."),
  });
  return declare("DeviceConfiguration", "How devices are set up.", {
    opaque: pointer(1, opaque, "Parameters for a driver."),
  });
};

const tolerationStruct = (declare: Declare, version: Version) =>
  declare("DeviceToleration", "Taints that do not matter.", {
    key: value(1, string, "Key of the taint; empty means any, with the operator Exists."),
    operator: value(
      2,
      named(`${version}.DeviceTolerationOperator`, "Exists", "Equal"),
      "Whether the value must be Equal or the key just Exists.",
      { default: "Equal" },
    ),
    value: value(3, string, "Value of the taint."),
    effect: value(4, effectOf(version), "Effect of the taint; empty means any."),
    tolerationSeconds: pointer(5, int64, "For how long NoExecute is tolerated; absent: ever."),
  });

const capacityPolicyStruct = (declare: Declare) => {
  const range = declare("CapacityRequestPolicyRange", "Amounts within bounds.", {
    min: pointer(1, quantity, "Least amount.", { required: true }),
    max: pointer(2, quantity, "Greatest amount; absent: all there is."),
    step: pointer(3, quantity, "Distance between the amounts above the least one."),
  });
  return declare("CapacityRequestPolicy", "Which amounts may be asked for.", {
    default: nullablePointer(1, quantity, "Amount for whoever names none.", { required: false }),
    validValues: value(3, list(quantity), "Single amounts, ascending.", atomic),
    validRange: pointer(4, range, "Amounts within bounds."),
  });
};

/** What describes a device. */
const contentStructs = (declare: Declare) => {
  const counter = declare("Counter", "An amount that devices share.", {
    value: required(1, quantity, "How much there is of it, or is used."),
  });
  return {
    counterSet: declare("CounterSet", "Amounts that several devices draw on.", {
      name: required(1, string, "Its name, a DNS label."),
      counters: value(2, map(counter), "The amounts by name.", { required: true }),
    }),
    deviceAttribute: declare("DeviceAttribute", "One of these values.", {
      int: pointer(2, int64, "A number."),
      bool: pointer(3, bool, "A truth value."),
      string: pointer(4, string, "A text."),
      version: pointer(5, string, "A semantic version."),
    }),
    deviceCapacity: declare("DeviceCapacity", "How much a device has of something.", {
      value: required(1, quantity, "The amount."),
      requestPolicy: pointer(2, capacityPolicyStruct(declare), "Which amounts may be asked for.", {
        gate: gates.capacity,
      }),
    }),
    deviceCounterConsumption: declare("DeviceCounterConsumption", "What is drawn from a set.", {
      counterSet: required(1, string, "Name of the set."),
      counters: value(2, map(counter), "The amounts by name.", { required: true }),
    }),
  };
};

function sharedStructs(version: Version) {
  const declare = structs(`api/resource/${version}`);
  return {
    declare,
    deviceConfiguration: configurationStruct(declare),
    deviceToleration: tolerationStruct(declare, version),
    deviceSelector: selectorStructs(declare),
    capacityRequirements: declare("CapacityRequirements", "Least amounts that are needed.", {
      requests: value(1, map(quantity), "The amounts by name."),
    }),
    deviceTaint: taintStruct(declare, version),
    ...contentStructs(declare),
  };
}

export type Shared = ReturnType<typeof sharedStructs>;

/** By version. */
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
