/** What has become of a pod. */
import {
  always,
  bool,
  int32,
  int64,
  list,
  map,
  named,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { quantity, time } from "#meta";
import { signal } from "./probes.ts";
import { resourceRequirements } from "./resources.ts";

const v1 = structs("api/core/v1");

const podCondition = v1("PodCondition", "One aspect of a pod's state.", {
  type: always(1, named("v1.PodConditionType"), "Name of the condition."),
  observedGeneration: plain(7, int64, "Generation of the pod that the condition is about."),
  status: always(2, named("v1.ConditionStatus"), "True, False or Unknown."),
  lastProbeTime: plain(3, time, "When it was last looked at."),
  lastTransitionTime: plain(4, time, "When the status last changed."),
  reason: plain(5, string, "Why, in one word for machines."),
  message: plain(6, string, "Why, in words."),
});

export const hostIP = v1("HostIP", "An address of a node.", {
  ip: always(1, string, "The address."),
});

const podIP = v1("PodIP", "An address of a pod.", {
  ip: always(1, string, "The address."),
});

const containerStateWaiting = v1("ContainerStateWaiting", "A container that does not run yet.", {
  reason: plain(1, string, "Why, in one word for machines."),
  message: plain(2, string, "Why, in words."),
});

const containerStateRunning = v1("ContainerStateRunning", "A container that runs.", {
  startedAt: plain(1, time, "When it started."),
});

const containerStateTerminated = v1("ContainerStateTerminated", "A container that has ended.", {
  exitCode: always(1, int32, "Exit status."),
  signal: plain(2, int32, "Signal that ended it."),
  reason: plain(3, string, "Why, in one word for machines."),
  message: plain(4, string, "Why, in words."),
  startedAt: plain(5, time, "When it started."),
  finishedAt: plain(6, time, "When it ended."),
  containerID: plain(7, string, "ID of the container, as in `type://id`."),
});

const containerState = v1(
  "ContainerState",
  "What a container is doing; at most one field is set.",
  {
    waiting: optional(1, containerStateWaiting, "It does not run yet."),
    running: optional(2, containerStateRunning, "It runs."),
    terminated: optional(3, containerStateTerminated, "It has ended."),
  },
);

const volumeMountStatus = v1("VolumeMountStatus", "How a volume is mounted.", {
  name: always(1, string, "Name of the mount."),
  mountPath: always(2, string, "Path in the container."),
  readOnly: plain(3, bool, "Mounted read-only."),
  recursiveReadOnly: optional(
    4,
    named("v1.RecursiveReadOnlyMode"),
    "Whether mounts below are read-only too.",
  ),
});

const linuxContainerUser = v1(
  "LinuxContainerUser",
  "Who the first process was at its start, on Linux.",
  {
    uid: always(1, int64, "User ID."),
    gid: always(2, int64, "Group ID."),
    supplementalGroups: plain(3, list(int64), "Further group IDs.", { listType: "atomic" }),
  },
);

const containerUser = v1("ContainerUser", "Who the first process was at its start.", {
  linux: optional(1, linuxContainerUser, "On Linux."),
});

const resourceHealth = v1("ResourceHealth", "How a device is.", {
  resourceID: always(1, string, "ID of the device."),
  health: plain(2, named("v1.ResourceHealthStatus"), "Healthy, Unhealthy or Unknown."),
});

const resourceStatus = v1("ResourceStatus", "How the devices of a resource are.", {
  name: always(
    1,
    named("v1.ResourceName"),
    "Name of the resource; `claim:` with a claim's name for a claim.",
  ),
  resources: plain(2, list(resourceHealth), "The devices.", {
    listType: "map",
    listMapKeys: ["resourceID"],
  }),
});

const containerStatus = v1("ContainerStatus", "What has become of a container.", {
  name: always(1, string, "Name of the container."),
  state: plain(2, containerState, "What it is doing."),
  lastState: plain(3, containerState, "What it was doing before it was last restarted."),
  ready: always(4, bool, "Whether its readiness check passes."),
  restartCount: always(5, int32, "How often it was restarted."),
  image: always(6, string, "Image that runs."),
  imageID: always(7, string, "ID of that image."),
  containerID: plain(8, string, "ID of the container, as in `type://id`."),
  started: optional(9, bool, "Whether it has started up."),
  allocatedResources: plain(10, map(quantity), "Resources that the node has set aside.", {
    gate: "InPlacePodVerticalScalingAllocatedStatus",
  }),
  resources: optional(11, resourceRequirements, "Requests and limits that are in force."),
  volumeMounts: plain(12, list(volumeMountStatus), "How volumes are mounted.", {
    listType: "map",
    listMapKeys: ["mountPath"],
    patchStrategy: ["merge"],
    patchMergeKey: "mountPath",
  }),
  user: optional(13, containerUser, "Who its first process was at its start."),
  allocatedResourcesStatus: plain(14, list(resourceStatus), "How its devices are.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge"],
    patchMergeKey: "name",
    gate: "ResourceHealthStatus",
  }),
  stopSignal: optional(15, signal, "Signal that ends it.", { gate: "ContainerStopSignals" }),
});

const podResourceClaimStatus = v1(
  "PodResourceClaimStatus",
  "The claim that was made for an entry of `spec.resourceClaims`.",
  {
    name: always(1, string, "Name of the entry."),
    resourceClaimName: optional(2, string, "Name of the claim; absent if none was needed."),
  },
);

const containerExtendedResourceRequest = v1(
  "ContainerExtendedResourceRequest",
  "Which request of a claim stands for an extended resource.",
  {
    containerName: always(1, string, "Name of the container."),
    resourceName: always(2, string, "Name of the resource."),
    requestName: always(3, string, "Name of the request in the claim."),
  },
);

const podExtendedResourceClaimStatus = v1(
  "PodExtendedResourceClaimStatus",
  "The claim that was made for extended resources.",
  {
    requestMappings: always(
      1,
      list(containerExtendedResourceRequest),
      "Requests by container and resource.",
      { listType: "atomic" },
    ),
    resourceClaimName: always(2, string, "Name of the claim."),
  },
);

export const podStatus = v1("PodStatus", "What has become of a pod.", {
  observedGeneration: plain(17, int64, "Generation that the status is about."),
  phase: plain(
    1,
    named("v1.PodPhase", "Pending", "Running", "Succeeded", "Failed", "Unknown"),
    "Pending, Running, Succeeded, Failed or Unknown.",
  ),
  conditions: plain(2, list(podCondition), "Aspects of its state.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  message: plain(3, string, "Why it is in this state, in words."),
  reason: plain(4, string, "Why it is in this state, in one word for machines."),
  nominatedNodeName: plain(11, string, "Node where others are making room for it."),
  hostIP: plain(5, string, "Address of its node."),
  hostIPs: plain(16, list(hostIP), "Addresses of its node.", {
    listType: "atomic",
    patchStrategy: ["merge"],
    patchMergeKey: "ip",
  }),
  podIP: plain(6, string, "Address of the pod."),
  podIPs: plain(12, list(podIP), "Addresses of the pod, at most one of each family.", {
    listType: "map",
    listMapKeys: ["ip"],
    patchStrategy: ["merge"],
    patchMergeKey: "ip",
  }),
  startTime: optional(7, time, "When the node took it on."),
  initContainerStatuses: plain(
    10,
    list(containerStatus),
    "What has become of the init containers.",
    { listType: "atomic" },
  ),
  containerStatuses: plain(8, list(containerStatus), "What has become of the containers.", {
    listType: "atomic",
  }),
  qosClass: plain(
    9,
    named("v1.PodQOSClass", "Guaranteed", "Burstable", "BestEffort"),
    "Guaranteed, Burstable or BestEffort.",
  ),
  ephemeralContainerStatuses: plain(
    13,
    list(containerStatus),
    "What has become of the ephemeral containers.",
    { listType: "atomic" },
  ),
  resize: plain(14, named("v1.PodResizeStatus"), "How far a change of resources is; deprecated."),
  resourceClaimStatuses: plain(
    15,
    list(podResourceClaimStatus),
    "Claims made for `spec.resourceClaims`.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge", "retainKeys"],
      patchMergeKey: "name",
    },
  ),
  extendedResourceClaimStatus: optional(
    18,
    podExtendedResourceClaimStatus,
    "The claim made for extended resources.",
    { gate: "DRAExtendedResource" },
  ),
});
