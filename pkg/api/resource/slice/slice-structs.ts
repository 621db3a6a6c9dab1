/** Structs of ResourceSlice. */
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

/**
 * Fields of a device besides its name.
 * @param from the first field number
 */
const deviceFields = (structs: Shared, from: number) => ({
  attributes: value(
    from,
    map(structs.deviceAttribute),
    "Attributes of the device, by name. Names without a domain are in that of the driver. At " +
      "most 32 together with capacity.",
  ),
  capacity: value(
    from + 1,
    map(structs.deviceCapacity),
    "Capacities of the device, by name. At most 32 together with attributes.",
  ),
  consumesCounters: value(
    from + 2,
    list(structs.deviceCounterConsumption),
    "Shared counters that the device consumes when it is allocated, one item per counter set. " +
      "Alpha: requires the feature gate DRAPartitionableDevices.",
    { ...atomic, gate: gates.partitions },
  ),
  nodeName: pointer(
    from + 3,
    string,
    "Node where the device is available. Only with perDeviceNodeSelection; mutually exclusive " +
      "with nodeSelector and allNodes. Alpha: requires the feature gate " +
      "DRAPartitionableDevices.",
    { gate: gates.partitions },
  ),
  nodeSelector: pointer(
    from + 4,
    nodeSelector,
    "Nodes where the device is available: a node selector with exactly one term. Only with " +
      "perDeviceNodeSelection; mutually exclusive with nodeName and allNodes. Alpha: requires " +
      "the feature gate DRAPartitionableDevices.",
    {
      gate: gates.partitions,
    },
  ),
  allNodes: pointer(
    from + 5,
    bool,
    "Whether all nodes can access the device. Only with perDeviceNodeSelection; mutually " +
      "exclusive with nodeName and nodeSelector. Alpha: requires the feature gate " +
      "DRAPartitionableDevices.",
    { gate: gates.partitions },
  ),
  taints: value(
    from + 6,
    list(structs.deviceTaint),
    "Taints of the device, set by the driver. At most 4. Alpha: requires the feature gate " +
      "DRADeviceTaints.",
    {
      ...atomic,
      gate: gates.taints,
    },
  ),
  bindsToNode: pointer(
    from + 7,
    bool,
    "Whether an allocation of the device is restricted to the node that was chosen for it. " +
      "Alpha: requires the feature gate DRADeviceBindingConditions.",
    {
      gate: gates.binding,
    },
  ),
  bindingConditions: value(
    from + 8,
    list(string),
    "Conditions that must be True in the status of the device for the pod to be bound, at most " +
      "4. Alpha: requires the feature gate DRADeviceBindingConditions.",
    {
      ...atomic,
      gate: gates.binding,
    },
  ),
  bindingFailureConditions: value(
    from + 9,
    list(string),
    "Conditions in the status of the device of which any being True is a binding failure, at " +
      "most 4. Alpha: requires the feature gate DRADeviceBindingConditions.",
    {
      ...atomic,
      gate: gates.binding,
    },
  ),
  allowMultipleAllocations: pointer(
    from + 10,
    bool,
    "Whether the device can be allocated to multiple requests, which share its capacity. " +
      "Alpha: requires the feature gate DRAConsumableCapacity.",
    {
      gate: gates.capacity,
    },
  ),
});

const deviceName = required(1, string, "Name of the device: a DNS label, unique within the pool.");

const deviceStruct = (structs: Shared) =>
  structs.declare("Device", "Device that a driver publishes for allocation.", {
    name: deviceName,
    ...deviceFields(structs, 2),
  });

const nestedDeviceStruct = (structs: Shared) => {
  const basic = structs.declare(
    "BasicDevice",
    "Definition of a device: attributes, capacities and nodes.",
    deviceFields(structs, 1),
  );
  return structs.declare("Device", "Device that a driver publishes for allocation.", {
    name: deviceName,
    basic: pointer(2, basic, "Definition of the device: attributes, capacities and nodes."),
  });
};

const poolStruct = ({ declare }: Shared) =>
  declare("ResourcePool", "Pool that ResourceSlices belong to.", {
    name: required(
      1,
      string,
      "Name of the pool, for node-local devices often that of the node. At most 253 " +
        "characters. Immutable.",
    ),
    generation: required(
      2,
      int64,
      "Generation of the pool, increased with each change. Only slices of the highest " +
        "generation are considered. Must not be negative.",
    ),
    resourceSliceCount: required(
      3,
      int64,
      "Total number of slices in this generation of the pool, greater than 0. The pool is " +
        "incomplete until all of them exist.",
    ),
  });

const nodeFields = {
  nodeName: pointer(
    3,
    string,
    "Name of the node whose devices these are. Mutually exclusive with the other node fields. " +
      "Immutable.",
  ),
  nodeSelector: pointer(
    4,
    nodeSelector,
    "Nodes that can access the devices: a node selector with exactly one term. Mutually " +
      "exclusive with the other node fields.",
  ),
  allNodes: pointer(
    5,
    bool,
    "Whether all nodes can access the devices. Mutually exclusive with the other node fields.",
  ),
};

const plainNodeFields = {
  ...nodeFields,
  nodeName: value(
    3,
    string,
    "Name of the node whose devices these are. Mutually exclusive with the other node fields. " +
      "Immutable.",
  ),
  allNodes: value(
    5,
    bool,
    "Whether all nodes can access the devices. Mutually exclusive with the other node fields.",
  ),
};

const sliceStruct = <D extends StructType<any>, N extends Fields>(
  structs: Shared,
  { device, nodes }: { readonly device: D; readonly nodes: N },
) => {
  const spec = structs.declare(
    "ResourceSliceSpec",
    "Devices that a driver publishes in a ResourceSlice, and the nodes that can access them.",
    {
      driver: required(1, string, "Name of the DRA driver, a DNS subdomain. Immutable."),
      pool: required(2, poolStruct(structs), "Pool that the slice belongs to."),
      ...nodes,
      devices: required(6, list(device), "Devices in the slice, at most 128.", {
        ...atomic,
        required: false,
      }),
      perDeviceNodeSelection: pointer(
        7,
        bool,
        "Whether each device specifies the nodes that can access it. Mutually exclusive with " +
          "the other node fields. Alpha: requires the feature gate DRAPartitionableDevices.",
        {
          gate: gates.partitions,
        },
      ),
      sharedCounters: value(
        8,
        list(structs.counterSet),
        "Counter sets from which the devices consume, with at most 32 counters in total. " +
          "Alpha: requires the feature gate DRAPartitionableDevices.",
        {
          ...atomic,
          gate: gates.partitions,
        },
      ),
    },
  );
  return structs.declare(
    "ResourceSlice",
    "ResourceSlice represents devices of a pool that a DRA driver publishes. A pool can " +
      "consist of several slices.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: required(2, spec, "Driver, pool, nodes and devices that the slice publishes."),
    },
  );
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
