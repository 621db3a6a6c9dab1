/** What has become of a pod. */
import {
  required,
  bool,
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
import { quantity, time } from "#meta";
import { signal } from "./container/probes.ts";
import { resourceRequirements } from "../shared/resources.ts";

const v1 = structs("api/core/v1");

const podCondition = v1("PodCondition", "One aspect of a pod's state.", {
  type: required(1, named("v1.PodConditionType"), "Name of the condition."),
  observedGeneration: value(7, int64, "Generation of the pod that the condition is about."),
  status: required(2, named("v1.ConditionStatus"), "True, False or Unknown."),
  lastProbeTime: value(3, time, "When it was last looked at."),
  lastTransitionTime: value(4, time, "When the status last changed."),
  reason: value(5, string, "Why, in one word for machines."),
  message: value(6, string, "Why, in words."),
});

export const hostIP = v1("HostIP", "An address of a node.", {
  ip: required(1, string, "The address."),
});

const podIP = v1("PodIP", "An address of a pod.", {
  ip: required(1, string, "The address."),
});

const containerStateWaiting = v1("ContainerStateWaiting", "A container that does not run yet.", {
  reason: value(1, string, "Why, in one word for machines."),
  message: value(2, string, "Why, in words."),
});

const containerStateRunning = v1("ContainerStateRunning", "A container that runs.", {
  startedAt: value(1, time, "When it started."),
});

const containerStateTerminated = v1("ContainerStateTerminated", "A container that has ended.", {
  exitCode: required(1, int32, "Exit status."),
  signal: value(2, int32, "Signal that ended it."),
  reason: value(3, string, "Why, in one word for machines."),
  message: value(4, string, "Why, in words."),
  startedAt: value(5, time, "When it started."),
  finishedAt: value(6, time, "When it ended."),
  containerID: value(7, string, "ID of the container, as in `type://id`."),
});

const containerState = v1(
  "ContainerState",
  "What a container is doing; at most one field is set.",
  {
    waiting: pointer(1, containerStateWaiting, "It does not run yet."),
    running: pointer(2, containerStateRunning, "It runs."),
    terminated: pointer(3, containerStateTerminated, "It has ended."),
  },
);

const volumeMountStatus = v1("VolumeMountStatus", "How a volume is mounted.", {
  name: required(1, string, "Name of the mount."),
  mountPath: required(2, string, "Path in the container."),
  readOnly: value(3, bool, "Mounted read-only."),
  recursiveReadOnly: pointer(
    4,
    named("v1.RecursiveReadOnlyMode"),
    "Whether mounts below are read-only too.",
  ),
});

const linuxContainerUser = v1(
  "LinuxContainerUser",
  "Who the first process was at its start, on Linux.",
  {
    uid: required(1, int64, "User ID."),
    gid: required(2, int64, "Group ID."),
    supplementalGroups: value(3, list(int64), "Further group IDs.", { listType: "atomic" }),
  },
);

const containerUser = v1("ContainerUser", "Who the first process was at its start.", {
  linux: pointer(1, linuxContainerUser, "On Linux."),
});

const resourceHealth = v1("ResourceHealth", "How a device is.", {
  resourceID: required(1, string, "ID of the device."),
  health: value(2, named("v1.ResourceHealthStatus"), "Healthy, Unhealthy or Unknown."),
});

const resourceStatus = v1("ResourceStatus", "How the devices of a resource are.", {
  name: required(
    1,
    named("v1.ResourceName"),
    "Name of the resource; `claim:` with a claim's name for a claim.",
  ),
  resources: value(2, list(resourceHealth), "The devices.", {
    listType: "map",
    listMapKeys: ["resourceID"],
  }),
});

const containerStatus = v1("ContainerStatus", "What has become of a container.", {
  name: required(1, string, "Name of the container."),
  state: value(2, containerState, "What it is doing."),
  lastState: value(3, containerState, "What it was doing before it was last restarted."),
  ready: required(4, bool, "Whether its readiness check passes."),
  restartCount: required(5, int32, "How often it was restarted."),
  image: required(6, string, "Image that runs."),
  imageID: required(7, string, "ID of that image."),
  containerID: value(8, string, "ID of the container, as in `type://id`."),
  started: pointer(9, bool, "Whether it has started up."),
  allocatedResources: value(10, map(quantity), "Resources that the node has set aside.", {
    gate: "InPlacePodVerticalScalingAllocatedStatus",
  }),
  resources: pointer(11, resourceRequirements, "Requests and limits that are in force."),
  volumeMounts: value(12, list(volumeMountStatus), "How volumes are mounted.", {
    listType: "map",
    listMapKeys: ["mountPath"],
    patchStrategy: ["merge"],
    patchMergeKey: "mountPath",
  }),
  user: pointer(13, containerUser, "Who its first process was at its start."),
  allocatedResourcesStatus: value(14, list(resourceStatus), "How its devices are.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge"],
    patchMergeKey: "name",
    gate: "ResourceHealthStatus",
  }),
  stopSignal: pointer(15, signal, "Signal that ends it.", { gate: "ContainerStopSignals" }),
});

const podResourceClaimStatus = v1(
  "PodResourceClaimStatus",
  "The claim that was made for an entry of `spec.resourceClaims`.",
  {
    name: required(1, string, "Name of the entry."),
    resourceClaimName: pointer(2, string, "Name of the claim; absent if none was needed."),
  },
);

const containerExtendedResourceRequest = v1(
  "ContainerExtendedResourceRequest",
  "Which request of a claim stands for an extended resource.",
  {
    containerName: required(1, string, "Name of the container."),
    resourceName: required(2, string, "Name of the resource."),
    requestName: required(3, string, "Name of the request in the claim."),
  },
);

const podExtendedResourceClaimStatus = v1(
  "PodExtendedResourceClaimStatus",
  "The claim that was made for extended resources.",
  {
    requestMappings: required(
      1,
      list(containerExtendedResourceRequest),
      "Requests by container and resource.",
      { listType: "atomic" },
    ),
    resourceClaimName: required(2, string, "Name of the claim."),
  },
);

export const podStatus = v1("PodStatus", "What has become of a pod.", {
  observedGeneration: value(17, int64, "Generation that the status is about."),
  phase: value(
    1,
    named("v1.PodPhase", "Pending", "Running", "Succeeded", "Failed", "Unknown"),
    "Pending, Running, Succeeded, Failed or Unknown.",
  ),
  conditions: value(2, list(podCondition), "Aspects of its state.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  message: value(3, string, "Why it is in this state, in words."),
  reason: value(4, string, "Why it is in this state, in one word for machines."),
  nominatedNodeName: value(11, string, "Node where others are making room for it."),
  hostIP: value(5, string, "Address of its node."),
  hostIPs: value(16, list(hostIP), "Addresses of its node.", {
    listType: "atomic",
    patchStrategy: ["merge"],
    patchMergeKey: "ip",
  }),
  podIP: value(6, string, "Address of the pod."),
  podIPs: value(12, list(podIP), "Addresses of the pod, at most one of each family.", {
    listType: "map",
    listMapKeys: ["ip"],
    patchStrategy: ["merge"],
    patchMergeKey: "ip",
  }),
  startTime: pointer(7, time, "When the node took it on."),
  initContainerStatuses: value(
    10,
    list(containerStatus),
    "What has become of the init containers.",
    { listType: "atomic" },
  ),
  containerStatuses: value(8, list(containerStatus), "What has become of the containers.", {
    listType: "atomic",
  }),
  qosClass: value(
    9,
    named("v1.PodQOSClass", "Guaranteed", "Burstable", "BestEffort"),
    "Guaranteed, Burstable or BestEffort.",
  ),
  ephemeralContainerStatuses: value(
    13,
    list(containerStatus),
    "What has become of the ephemeral containers.",
    { listType: "atomic" },
  ),
  resize: value(14, named("v1.PodResizeStatus"), "How far a change of resources is; deprecated."),
  resourceClaimStatuses: value(
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
  extendedResourceClaimStatus: pointer(
    18,
    podExtendedResourceClaimStatus,
    "The claim made for extended resources.",
    { gate: "DRAExtendedResource" },
  ),
});
