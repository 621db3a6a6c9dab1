/** Structs of resource slices. */
import {
  required,
  bool,
  type Fields,
  type Infer,
  int64,
  list,
  map,
  pointer,
  value,
  string,
  type StructType,
} from "#schema";
import { objectMeta } from "#meta";
import { nodeSelector } from "../../core/pod/spec/scheduling.ts";
import { atomic, gates, shared, type Shared } from "../shared-structs.ts";

/** What describes a device beside its name; `from` is the first number. */
const deviceFields = (structs: Shared, from: number) => ({
  attributes: value(from, map(structs.deviceAttribute), "What it is like, by name."),
  capacity: value(from + 1, map(structs.deviceCapacity), "What it has how much of, by name."),
  consumesCounters: value(
    from + 2,
    list(structs.deviceCounterConsumption),
    "What it draws from the counters that it shares with others.",
    { ...atomic, gate: gates.partitions },
  ),
  nodeName: pointer(from + 3, string, "Node that it is on.", { gate: gates.partitions }),
  nodeSelector: pointer(from + 4, nodeSelector, "Nodes that it can be used on.", {
    gate: gates.partitions,
  }),
  allNodes: pointer(from + 5, bool, "It can be used on all nodes.", { gate: gates.partitions }),
  taints: value(from + 6, list(structs.deviceTaint), "What keeps users away.", {
    ...atomic,
    gate: gates.taints,
  }),
  bindsToNode: pointer(from + 7, bool, "Using it binds the claim to the node.", {
    gate: gates.binding,
  }),
  bindingConditions: value(from + 8, list(string), "Conditions that pods wait for.", {
    ...atomic,
    gate: gates.binding,
  }),
  bindingFailureConditions: value(from + 9, list(string), "Conditions on which to give up.", {
    ...atomic,
    gate: gates.binding,
  }),
  allowMultipleAllocations: pointer(from + 10, bool, "Several claims may use it at a time.", {
    gate: gates.capacity,
  }),
});

const deviceName = required(1, string, "Its name, a DNS label, unique in the pool.");

const deviceStruct = (structs: Shared) =>
  structs.declare("Device", "A device that can be used.", {
    name: deviceName,
    ...deviceFields(structs, 2),
  });

const nestedDeviceStruct = (structs: Shared) => {
  const basic = structs.declare("BasicDevice", "What a device is like.", deviceFields(structs, 1));
  return structs.declare("Device", "A device that can be used.", {
    name: deviceName,
    basic: pointer(2, basic, "What it is like."),
  });
};

const poolStruct = ({ declare }: Shared) =>
  declare("ResourcePool", "Slices that belong together.", {
    name: required(1, string, "Its name."),
    generation: required(2, int64, "Grows when its slices change; slices of older ones are stale."),
    resourceSliceCount: required(3, int64, "How many slices it has."),
  });

const nodeFields = {
  nodeName: pointer(3, string, "The node that they are on; fixed."),
  nodeSelector: pointer(4, nodeSelector, "Nodes that they can be used on."),
  allNodes: pointer(5, bool, "They can be used on all nodes."),
};

const plainNodeFields = {
  ...nodeFields,
  nodeName: value(3, string, "The node that they are on; fixed."),
  allNodes: value(5, bool, "They can be used on all nodes."),
};

const sliceStruct = <D extends StructType<any>, N extends Fields>(
  structs: Shared,
  { device, nodes }: { readonly device: D; readonly nodes: N },
) => {
  const spec = structs.declare("ResourceSliceSpec", "Devices, and where they are.", {
    driver: required(1, string, "Their driver; fixed."),
    pool: required(2, poolStruct(structs), "Their pool."),
    ...nodes,
    devices: required(6, list(device), "The devices.", { ...atomic, required: false }),
    perDeviceNodeSelection: pointer(7, bool, "Each device says where it is.", {
      gate: gates.partitions,
    }),
    sharedCounters: value(8, list(structs.counterSet), "Amounts that devices draw on.", {
      ...atomic,
      gate: gates.partitions,
    }),
  });
  return structs.declare("ResourceSlice", "Devices of one driver that are in the same place.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, spec, "The devices, and where they are."),
  });
};

export const sliceV1 = sliceStruct(shared.v1, {
  device: deviceStruct(shared.v1),
  nodes: nodeFields,
});
export const sliceV1beta1 = sliceStruct(shared.v1beta1, {
  device: nestedDeviceStruct(shared.v1beta1),
  nodes: plainNodeFields,
});
export const sliceV1beta2 = sliceStruct(shared.v1beta2, {
  device: deviceStruct(shared.v1beta2),
  nodes: nodeFields,
});

export type ResourceSlice = Infer<typeof sliceV1beta2>;
export type SliceSpec = ResourceSlice["spec"];
export type Device = NonNullable<SliceSpec["devices"]>[number];
export type ResourceSliceV1beta1 = Infer<typeof sliceV1beta1>;
