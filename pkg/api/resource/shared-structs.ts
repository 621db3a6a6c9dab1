/** Structs of devices that look the same in every version. */
import {
  always,
  bool,
  type Infer,
  int64,
  list,
  map,
  named,
  nullable,
  optional,
  plain,
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
    expression: always(1, string, "CEL expression over `device` that must be true."),
  });
  return declare("DeviceSelector", "Devices that fit.", {
    cel: optional(1, celDeviceSelector, "Picks by an expression."),
  });
};

export const taintStruct = (declare: Declare, version: string) =>
  declare("DeviceTaint", "Keeps everybody who does not tolerate it from using devices.", {
    key: always(1, string, "Its key, like a label's."),
    value: plain(2, string, "Its value, like a label's."),
    effect: always(3, effectOf(version), "NoSchedule, or NoExecute: also who uses them already."),
    timeAdded: optional(4, time, "When it was added; filled in when absent."),
  });

const configurationStruct = (declare: Declare) => {
  const opaque = declare("OpaqueDeviceConfiguration", "Parameters only a driver understands.", {
    driver: always(1, string, "The driver."),
    parameters: always(2, rawExtension, "The parameters: an object with apiVersion and kind."),
  });
  return declare("DeviceConfiguration", "How devices are set up.", {
    opaque: optional(1, opaque, "Parameters for a driver."),
  });
};

const tolerationStruct = (declare: Declare, version: Version) =>
  declare("DeviceToleration", "Taints that do not matter.", {
    key: plain(1, string, "Key of the taint; empty means any, with the operator Exists."),
    operator: plain(
      2,
      named(`${version}.DeviceTolerationOperator`, "Exists", "Equal"),
      "Whether the value must be Equal or the key just Exists.",
      { default: "Equal" },
    ),
    value: plain(3, string, "Value of the taint."),
    effect: plain(4, effectOf(version), "Effect of the taint; empty means any."),
    tolerationSeconds: optional(5, int64, "For how long NoExecute is tolerated; absent: ever."),
  });

const capacityPolicyStruct = (declare: Declare) => {
  const range = declare("CapacityRequestPolicyRange", "Amounts within bounds.", {
    min: optional(1, quantity, "Least amount.", { required: true }),
    max: optional(2, quantity, "Greatest amount; absent: all there is."),
    step: optional(3, quantity, "Distance between the amounts above the least one."),
  });
  return declare("CapacityRequestPolicy", "Which amounts may be asked for.", {
    default: nullable(1, quantity, "Amount for whoever names none.", { required: false }),
    validValues: plain(3, list(quantity), "Single amounts, ascending.", atomic),
    validRange: optional(4, range, "Amounts within bounds."),
  });
};

/** What describes a device. */
const contentStructs = (declare: Declare) => {
  const counter = declare("Counter", "An amount that devices share.", {
    value: always(1, quantity, "How much there is of it, or is used."),
  });
  return {
    counterSet: declare("CounterSet", "Amounts that several devices draw on.", {
      name: always(1, string, "Its name, a DNS label."),
      counters: plain(2, map(counter), "The amounts by name.", { required: true }),
    }),
    deviceAttribute: declare("DeviceAttribute", "One of these values.", {
      int: optional(2, int64, "A number."),
      bool: optional(3, bool, "A truth value."),
      string: optional(4, string, "A text."),
      version: optional(5, string, "A semantic version."),
    }),
    deviceCapacity: declare("DeviceCapacity", "How much a device has of something.", {
      value: always(1, quantity, "The amount."),
      requestPolicy: optional(2, capacityPolicyStruct(declare), "Which amounts may be asked for.", {
        gate: gates.capacity,
      }),
    }),
    deviceCounterConsumption: declare("DeviceCounterConsumption", "What is drawn from a set.", {
      counterSet: always(1, string, "Name of the set."),
      counters: plain(2, map(counter), "The amounts by name.", { required: true }),
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
      requests: plain(1, map(quantity), "The amounts by name."),
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
