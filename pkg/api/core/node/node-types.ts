/** The shape of a Node. */
import {
  required,
  bool,
  type Infer,
  int32,
  int64,
  list,
  map,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectMeta, quantity, time } from "#meta";

const v1 = structs("api/core/v1");

export const taint = v1("Taint", "Keeps pods away that do not tolerate it.", {
  key: required(1, string, "Key of the taint."),
  value: value(2, string, "Value of the taint."),
  effect: required(
    3,
    named("v1.TaintEffect", "NoSchedule", "PreferNoSchedule", "NoExecute"),
    "What happens to other pods: NoSchedule, PreferNoSchedule or NoExecute.",
  ),
  timeAdded: pointer(4, time, "When it was added, for NoExecute."),
});

const configMapNodeConfigSource = v1(
  "ConfigMapNodeConfigSource",
  "A ConfigMap with the configuration of the kubelet; no longer in use.",
  {
    namespace: required(1, string, "Namespace of the ConfigMap."),
    name: required(2, string, "Name of the ConfigMap."),
    uid: value(3, string, "UID of the ConfigMap."),
    resourceVersion: value(4, string, "Version of the ConfigMap."),
    kubeletConfigKey: required(5, string, "Key of the configuration in it."),
  },
);

const nodeConfigSource = v1(
  "NodeConfigSource",
  "Where configuration came from; no longer in use.",
  {
    configMap: pointer(2, configMapNodeConfigSource, "From a ConfigMap."),
  },
);

const nodeSpec = v1("NodeSpec", "How the node is to be used.", {
  podCIDR: value(1, string, "Network of its pods; set once."),
  podCIDRs: value(7, list(string), "All networks of its pods, at most one of each family.", {
    listType: "set",
    patchStrategy: ["merge"],
  }),
  providerID: value(3, string, "What the cloud provider calls the node; set once."),
  unschedulable: value(4, bool, "No new pods are placed here."),
  taints: value(5, list(taint), "What keeps pods away.", { listType: "atomic" }),
  configSource: pointer(6, nodeConfigSource, "No longer in use."),
  externalID: value(2, string, "No longer in use."),
});

const nodeCondition = v1("NodeCondition", "Something known of the node.", {
  type: required(
    1,
    named(
      "v1.NodeConditionType",
      "Ready",
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "NetworkUnavailable",
    ),
    "What it is about, as in Ready or MemoryPressure.",
  ),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Whether it holds: True, False or Unknown.",
  ),
  lastHeartbeatTime: value(3, time, "When it was last looked at."),
  lastTransitionTime: value(4, time, "When it last changed."),
  reason: value(5, string, "Why it last changed, as one word."),
  message: value(6, string, "Why it last changed, for people."),
});

export const nodeAddress = v1("NodeAddress", "A way to reach the node.", {
  type: required(
    1,
    named(
      "v1.NodeAddressType",
      "Hostname",
      "InternalIP",
      "ExternalIP",
      "InternalDNS",
      "ExternalDNS",
    ),
    "Kind of address: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.",
  ),
  address: required(2, string, "The address."),
});

const daemonEndpoint = v1("DaemonEndpoint", "Where a daemon listens.", {
  Port: required(1, int32, "Number of the port."),
});

const nodeDaemonEndpoints = v1("NodeDaemonEndpoints", "Where daemons of the node listen.", {
  kubeletEndpoint: value(1, daemonEndpoint, "Where the kubelet listens."),
});

const nodeSwapStatus = v1("NodeSwapStatus", "Swap space of a node.", {
  capacity: pointer(1, int64, "All of it, in bytes."),
});

const nodeSystemInfo = v1("NodeSystemInfo", "What runs on the node, and on what.", {
  machineID: required(1, string, "ID of the machine, unique in the cluster."),
  systemUUID: required(2, string, "UUID that the hardware tells."),
  bootID: required(3, string, "ID of the current boot."),
  kernelVersion: required(4, string, "Version of the kernel."),
  osImage: required(5, string, "Name of the operating system's release."),
  containerRuntimeVersion: required(6, string, "Container runtime, as in `containerd://2.0.1`."),
  kubeletVersion: required(7, string, "Version of the kubelet."),
  kubeProxyVersion: required(8, string, "No longer in use."),
  operatingSystem: required(9, string, "Operating system, as in `linux`."),
  architecture: required(10, string, "Architecture, as in `amd64`."),
  swap: pointer(11, nodeSwapStatus, "Swap space of the node."),
});

const containerImage = v1("ContainerImage", "An image that is already on the node.", {
  names: required(1, list(string), "All names under which it is known.", {
    required: false,
    listType: "atomic",
  }),
  sizeBytes: value(2, int64, "Size in bytes."),
});

const attachedVolume = v1("AttachedVolume", "A volume that is attached to the node.", {
  name: required(1, string, "Name of the volume."),
  devicePath: required(2, string, "Where its device is."),
});

const nodeConfigStatus = v1("NodeConfigStatus", "State of configuration; no longer in use.", {
  assigned: pointer(1, nodeConfigSource, "What the kubelet will try."),
  active: pointer(2, nodeConfigSource, "What the kubelet uses."),
  lastKnownGood: pointer(3, nodeConfigSource, "What the kubelet falls back to."),
  error: value(4, string, "What is wrong with what is assigned."),
});

const nodeRuntimeHandlerFeatures = v1("NodeRuntimeHandlerFeatures", "What a handler can do.", {
  recursiveReadOnlyMounts: pointer(1, bool, "Mounts that are read-only all the way down.", {
    gate: "RecursiveReadOnlyMounts",
  }),
  userNamespaces: pointer(2, bool, "Pods with users of their own.", {
    gate: "UserNamespacesSupport",
  }),
});

const nodeRuntimeHandler = v1("NodeRuntimeHandler", "A handler of the container runtime.", {
  name: required(1, string, "Name of the handler; empty for the usual one.", { required: false }),
  features: pointer(2, nodeRuntimeHandlerFeatures, "What the handler can do."),
});

const nodeFeatures = v1("NodeFeatures", "What the container runtime can do.", {
  supplementalGroupsPolicy: pointer(1, bool, "Policies for the groups of containers."),
});

const resourceList = map(quantity);

const nodeStatus = v1("NodeStatus", "State of the node.", {
  capacity: value(1, resourceList, "All resources of the node."),
  allocatable: value(2, resourceList, "What of them pods may use; all of it unless set."),
  phase: value(3, named("v1.NodePhase", "Pending", "Running", "Terminated"), "No longer in use."),
  conditions: value(4, list(nodeCondition), "What is known of the node.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  addresses: value(5, list(nodeAddress), "Ways to reach the node.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  daemonEndpoints: value(6, nodeDaemonEndpoints, "Where daemons of the node listen."),
  nodeInfo: value(7, nodeSystemInfo, "What runs on the node, and on what."),
  images: value(8, list(containerImage), "Images that are already there.", { listType: "atomic" }),
  volumesInUse: value(9, list(string), "Attachable volumes that are mounted.", {
    listType: "atomic",
  }),
  volumesAttached: value(10, list(attachedVolume), "Volumes that are attached.", {
    listType: "atomic",
  }),
  config: pointer(11, nodeConfigStatus, "No longer in use."),
  runtimeHandlers: value(12, list(nodeRuntimeHandler), "Handlers of the container runtime.", {
    listType: "atomic",
    gate: "RecursiveReadOnlyMounts",
  }),
  features: pointer(13, nodeFeatures, "What the container runtime can do.", {
    gate: "SupplementalGroupsPolicy",
  }),
});

export const nodeV1 = v1("Node", "A machine that runs pods.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, nodeSpec, "How the node is to be used."),
  status: value(3, nodeStatus, "State of the node."),
});

export type Node = Infer<typeof nodeV1>;
export type Taint = Infer<typeof taint>;
