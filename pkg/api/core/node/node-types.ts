/** Structs of Node. */
import { resourceList } from "../shared/resources.ts";
import {
  required,
  bool,
  type Infer,
  int32,
  int64,
  list,
  named,
  pointer,
  value,
  string,
  structs,
  mergedBy,
} from "#schema";
import { objectMeta, time, uid } from "#meta";

const v1 = structs("api/core/v1");

export const taint = v1("Taint", "Marks a node so that it repels pods that do not tolerate it.", {
  key: required(1, string, "Key of the taint, a qualified name such as `example.com/gpu`."),
  value: value(2, string, "Value of the taint, a label value of at most 63 characters."),
  effect: required(
    3,
    named("v1.TaintEffect", "NoSchedule", "PreferNoSchedule", "NoExecute"),
    "Effect on pods without a matching toleration. One of NoSchedule (not scheduled), " +
      "PreferNoSchedule (scheduled only if unavoidable), NoExecute (not scheduled, and evicted " +
      "if already running).",
  ),
  timeAdded: pointer(
    4,
    time,
    "Time at which the taint was added. For effect NoExecute, tolerationSeconds counts from it.",
  ),
});

const configMapNodeConfigSource = v1(
  "ConfigMapNodeConfigSource",
  "ConfigMap with a kubelet configuration. Deprecated: dynamic kubelet configuration was " +
    "removed in v1.26.",
  {
    namespace: required(1, string, "Namespace of the ConfigMap."),
    name: required(2, string, "Name of the ConfigMap."),
    uid: value(3, uid, "UID of the ConfigMap. Set in status only."),
    resourceVersion: value(4, string, "Resource version of the ConfigMap. Set in status only."),
    kubeletConfigKey: required(
      5,
      string,
      "Key of the ConfigMap that holds the kubelet configuration.",
    ),
  },
);

const nodeConfigSource = v1(
  "NodeConfigSource",
  "Source of a node configuration. Deprecated: dynamic kubelet configuration was removed " +
    "in v1.26.",
  {
    configMap: pointer(2, configMapNodeConfigSource, "ConfigMap that holds the configuration."),
  },
);

const nodeSpec = v1("NodeSpec", "Desired state of a node.", {
  podCIDR: value(
    1,
    string,
    "IP range of the pods on the node, in CIDR notation. Immutable once set.",
  ),
  podCIDRs: value(
    7,
    list(string),
    "IP ranges of the pods on the node, at most one per IP family. The first must equal " +
      "podCIDR. Immutable once set.",
    {
      listType: "set",
      patchStrategy: ["merge"],
    },
  ),
  providerID: value(
    3,
    string,
    "Identifier that the cloud provider assigned to the node, in the form `<provider>://<id>`. " +
      "Immutable once set.",
  ),
  unschedulable: value(
    4,
    bool,
    "Whether the node is unschedulable for new pods, as set by `kubectl cordon`. Running pods " +
      "are not affected. Defaults to false.",
  ),
  taints: value(5, list(taint), "Taints of the node. Pods need matching tolerations.", {
    listType: "atomic",
  }),
  configSource: pointer(
    6,
    nodeConfigSource,
    "Deprecated and ignored: source of the kubelet configuration.",
  ),
  externalID: value(2, string, "Deprecated and ignored: former identifier of the node."),
});

const nodeCondition = v1("NodeCondition", "One observed condition of a node.", {
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
    "Name of the condition: Ready, MemoryPressure, DiskPressure, PIDPressure, " +
      "NetworkUnavailable, or one defined by another controller.",
    { openApi: { enum: false } },
  ),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Status of the condition: one of True, False, Unknown.",
    { openApi: { enum: false } },
  ),
  lastHeartbeatTime: value(3, time, "Time at which the kubelet last reported the condition."),
  lastTransitionTime: value(4, time, "Time at which `status` last changed to another value."),
  reason: value(5, string, "Machine-readable CamelCase reason for the last transition."),
  message: value(6, string, "Human-readable message with details about the last transition."),
});

export const nodeAddress = v1("NodeAddress", "Address at which a node is reachable.", {
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
    "Type of the address: one of Hostname, InternalIP, ExternalIP, InternalDNS, ExternalDNS.",
    { openApi: { enum: false } },
  ),
  address: required(2, string, "IP address or DNS name of the node."),
});

const daemonEndpoint = v1("DaemonEndpoint", "Port that a daemon of the node listens on.", {
  Port: required(1, int32, "Port number, 1 to 65535."),
});

const nodeDaemonEndpoints = v1(
  "NodeDaemonEndpoints",
  "Endpoints of the system daemons of a node.",
  {
    kubeletEndpoint: value(
      1,
      daemonEndpoint,
      "Endpoint of the kubelet, which the API server connects to for logs and exec.",
    ),
  },
);

const nodeSwapStatus = v1("NodeSwapStatus", "Swap memory of a node.", {
  capacity: pointer(1, int64, "Total swap memory, in bytes."),
});

const nodeSystemInfo = v1("NodeSystemInfo", "Identifiers and software versions of a node.", {
  machineID: required(1, string, "Machine ID reported by the node, from /etc/machine-id on Linux."),
  systemUUID: required(2, string, "System UUID reported by the hardware."),
  bootID: required(3, string, "Boot ID reported by the node. It changes with every reboot."),
  kernelVersion: required(4, string, "Kernel version, from `uname -r` on Linux."),
  osImage: required(
    5,
    string,
    "Name of the operating system release, from /etc/os-release on Linux.",
  ),
  containerRuntimeVersion: required(
    6,
    string,
    "Container runtime and its version, for example `containerd://2.0.1`.",
  ),
  kubeletVersion: required(7, string, "Version of the kubelet."),
  kubeProxyVersion: required(
    8,
    string,
    "Deprecated: version of kube-proxy, which current kubelets no longer report.",
  ),
  operatingSystem: required(
    9,
    string,
    "Operating system reported by the node: `linux` or `windows`.",
  ),
  architecture: required(10, string, "Processor architecture, for example `amd64` or `arm64`."),
  swap: pointer(11, nodeSwapStatus, "Swap memory of the node."),
});

const containerImage = v1("ContainerImage", "Container image on a node.", {
  names: required(1, list(string), "Names by which the image is known, with tags and digests.", {
    required: false,
    listType: "atomic",
  }),
  sizeBytes: value(2, int64, "Size of the image, in bytes."),
});

const attachedVolume = v1("AttachedVolume", "Volume that is attached to a node.", {
  name: required(1, named("v1.UniqueVolumeName"), "Unique name of the attached volume."),
  devicePath: required(2, string, "Path of the device on the node."),
});

const nodeConfigStatus = v1(
  "NodeConfigStatus",
  "State of dynamic kubelet configuration. Deprecated: the feature was removed in v1.26.",
  {
    assigned: pointer(1, nodeConfigSource, "Configuration that the kubelet was assigned."),
    active: pointer(2, nodeConfigSource, "Configuration that the kubelet is using."),
    lastKnownGood: pointer(
      3,
      nodeConfigSource,
      "Configuration to which the kubelet falls back when the assigned one fails.",
    ),
    error: value(4, string, "Error in the assigned configuration."),
  },
);

const nodeRuntimeHandlerFeatures = v1(
  "NodeRuntimeHandlerFeatures",
  "Features supported by a runtime handler.",
  {
    recursiveReadOnlyMounts: pointer(
      1,
      bool,
      "Whether the handler supports recursive read-only mounts.",
      {
        gate: "RecursiveReadOnlyMounts",
      },
    ),
    userNamespaces: pointer(
      2,
      bool,
      "Whether the handler supports user namespaces, including for volumes. Beta: feature " +
        "gate UserNamespacesSupport.",
      {
        gate: "UserNamespacesSupport",
      },
    ),
  },
);

const nodeRuntimeHandler = v1(
  "NodeRuntimeHandler",
  "Runtime handler of a node, which RuntimeClasses select by name.",
  {
    name: required(
      1,
      string,
      'Name of the runtime handler. Empty for the default handler. Defaults to "".',
      {
        required: false,
      },
    ),
    features: pointer(2, nodeRuntimeHandlerFeatures, "Features supported by the runtime handler."),
  },
);

const nodeFeatures = v1(
  "NodeFeatures",
  "Features supported by the container runtime, independent of the runtime handler.",
  {
    supplementalGroupsPolicy: pointer(
      1,
      bool,
      "Whether the runtime supports supplementalGroupsPolicy and user in the status of containers.",
    ),
  },
);

const nodeStatus = v1("NodeStatus", "Observed state of a node.", {
  capacity: value(1, resourceList, "Total resources of the node, by resource name."),
  allocatable: value(
    2,
    resourceList,
    "Resources available for scheduling pods: capacity minus what is reserved for the system. " +
      "Defaults to capacity.",
  ),
  phase: value(
    3,
    named("v1.NodePhase", "Pending", "Running", "Terminated"),
    "Deprecated and no longer set: one of Pending, Running, Terminated.",
  ),
  conditions: value(
    4,
    list(nodeCondition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
  addresses: value(
    5,
    list(nodeAddress),
    "Addresses at which the node is reachable, reported by the kubelet or the cloud provider.",
    mergedBy("type"),
  ),
  daemonEndpoints: value(6, nodeDaemonEndpoints, "Endpoints of the daemons that run on the node."),
  nodeInfo: value(
    7,
    nodeSystemInfo,
    "Machine IDs, kernel, operating system and component versions of the node.",
  ),
  images: value(
    8,
    list(containerImage),
    "Container images on the node, largest first. The kubelet reports at most 50 by default.",
    { listType: "atomic" },
  ),
  volumesInUse: value(
    9,
    list(named("v1.UniqueVolumeName")),
    "Attachable volumes that are mounted on the node and must not be detached.",
    {
      listType: "atomic",
    },
  ),
  volumesAttached: value(
    10,
    list(attachedVolume),
    "Volumes attached to the node by the attach-detach controller.",
    {
      listType: "atomic",
    },
  ),
  config: pointer(11, nodeConfigStatus, "Deprecated: state of dynamic kubelet configuration."),
  runtimeHandlers: value(12, list(nodeRuntimeHandler), "Runtime handlers available on the node.", {
    listType: "atomic",
    gate: "RecursiveReadOnlyMounts",
  }),
  features: pointer(
    13,
    nodeFeatures,
    "Features supported by the container runtime. Beta: feature gate SupplementalGroupsPolicy.",
    {
      gate: "SupplementalGroupsPolicy",
    },
  ),
});

export const nodeV1 = v1("Node", "Node is a worker machine of the cluster.", {
  metadata: value(
    1,
    objectMeta,
    "Standard object metadata. Labels describe the node for scheduling.",
  ),
  spec: value(2, nodeSpec, "Scheduling settings and pod IP ranges."),
  status: value(
    3,
    nodeStatus,
    "Capacity, addresses and conditions reported by the kubelet. Read-only.",
  ),
});

export type Node = Infer<typeof nodeV1>;
export type Taint = Infer<typeof taint>;
