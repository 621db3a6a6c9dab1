/** Structs of pod status. */
import {
  required,
  bool,
  int32,
  int64,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { time } from "#meta";
import { signal } from "./container/probes.ts";
import { resourceRequirements, resourceList } from "../shared/resources.ts";

const v1 = structs("api/core/v1");

const podCondition = v1("PodCondition", "One observed condition of a pod.", {
  type: required(
    1,
    named("v1.PodConditionType"),
    "Name of the condition: PodScheduled, Initialized, ContainersReady, Ready, " +
      "PodReadyToStartContainers, DisruptionTarget or one of a readiness gate.",
  ),
  observedGeneration: value(
    7,
    int64,
    "Value of metadata.generation that the condition describes. Beta: feature gate " +
      "PodObservedGenerationTracking.",
  ),
  status: required(
    2,
    named("v1.ConditionStatus"),
    "Status of the condition: one of True, False, Unknown.",
  ),
  lastProbeTime: value(3, time, "Time at which the condition was last checked."),
  lastTransitionTime: value(4, time, "Time at which `status` last changed to another value."),
  reason: value(5, string, "Machine-readable CamelCase reason for the last transition."),
  message: value(6, string, "Human-readable message with details about the last transition."),
});

export const hostIP = v1("HostIP", "IP address of a node.", {
  ip: required(1, string, "Address in its canonical text form."),
});

const podIP = v1("PodIP", "IP address of a pod.", {
  ip: required(1, string, "Address in its canonical text form."),
});

const containerStateWaiting = v1(
  "ContainerStateWaiting",
  "State of a container that is not running yet.",
  {
    reason: value(1, string, "Machine-readable CamelCase reason, for example ImagePullBackOff."),
    message: value(2, string, "Human-readable details about the reason."),
  },
);

const containerStateRunning = v1("ContainerStateRunning", "State of a container that is running.", {
  startedAt: value(1, time, "Time at which the container was last started."),
});

const containerStateTerminated = v1(
  "ContainerStateTerminated",
  "State of a container that has terminated.",
  {
    exitCode: required(1, int32, "Exit code of the container."),
    signal: value(2, int32, "Number of the signal that terminated the container, if any."),
    reason: value(
      3,
      string,
      "Machine-readable CamelCase reason, for example Completed or OOMKilled.",
    ),
    message: value(4, string, "Termination message of the container."),
    startedAt: value(5, time, "Time at which this run of the container started."),
    finishedAt: value(6, time, "Time at which this run of the container terminated."),
    containerID: value(7, string, "Identifier of the container: `<runtime>://<id>`."),
  },
);

const containerState = v1(
  "ContainerState",
  "State of a container. At most one field is set; none means waiting.",
  {
    waiting: pointer(1, containerStateWaiting, "Set while the container waits to be started."),
    running: pointer(2, containerStateRunning, "Set while the container is running."),
    terminated: pointer(3, containerStateTerminated, "Set after the container has terminated."),
  },
);

const volumeMountStatus = v1(
  "VolumeMountStatus",
  "Mount of a volume as the container runtime reports it.",
  {
    name: required(1, string, "Name of the volume mount."),
    mountPath: required(2, string, "Path inside the container."),
    readOnly: value(3, bool, "Whether the mount is read-only."),
    recursiveReadOnly: pointer(
      4,
      named("v1.RecursiveReadOnlyMode"),
      "Effective mode: Disabled, Enabled, or absent for a mount that is not read-only.",
    ),
  },
);

const linuxContainerUser = v1(
  "LinuxContainerUser",
  "Identity of the first process of a Linux container at its start.",
  {
    uid: required(1, int64, "User ID of the process."),
    gid: required(2, int64, "Primary group ID of the process."),
    supplementalGroups: value(3, list(int64), "Supplementary group IDs of the process.", {
      listType: "atomic",
    }),
  },
);

const containerUser = v1(
  "ContainerUser",
  "Identity of the first process of a container at its start.",
  {
    linux: pointer(1, linuxContainerUser, "Identity on Linux nodes."),
  },
);

const resourceHealth = v1("ResourceHealth", "Health of one allocated device.", {
  resourceID: required(
    1,
    named("v1.ResourceID"),
    "Identifier of the device, unique within the resource.",
  ),
  health: value(
    2,
    named("v1.ResourceHealthStatus"),
    "Health of the device: Healthy, Unhealthy or Unknown.",
  ),
});

const resourceStatus = v1(
  "ResourceStatus",
  "Health of the devices that a container uses of one resource.",
  {
    name: required(
      1,
      named("v1.ResourceName"),
      "Name of the resource; `claim:<claim>/<request>` for devices of a ResourceClaim.",
    ),
    resources: value(2, list(resourceHealth), "One entry per device.", {
      listType: "map",
      listMapKeys: ["resourceID"],
    }),
  },
);

const containerStatus = v1("ContainerStatus", "Observed state of a container.", {
  name: required(1, string, "Name of the container, as in the pod's specification."),
  state: value(2, containerState, "Current state of the container."),
  lastState: value(
    3,
    containerState,
    "Last termination of the container, for diagnosing restarts.",
  ),
  ready: required(
    4,
    bool,
    "Whether the container passes its readiness probe. Always false before it has started.",
  ),
  restartCount: required(5, int32, "Number of restarts of the container."),
  image: required(
    6,
    string,
    "Image that the container runs. It may differ from the specification, which can name " +
      "it in another form.",
  ),
  imageID: required(7, string, "Identifier of the image that runs."),
  containerID: value(8, string, "Identifier of the container: `<runtime>://<id>`."),
  started: pointer(
    9,
    bool,
    "Whether the postStart handler has finished and the startup probe has passed.",
  ),
  allocatedResources: value(
    10,
    resourceList,
    "Resources that the node has allocated to the container. Beta: feature gate " +
      "InPlacePodVerticalScaling.",
    { gate: "InPlacePodVerticalScaling" },
  ),
  resources: pointer(11, resourceRequirements, "Requests and limits that are currently in effect."),
  volumeMounts: value(
    12,
    list(volumeMountStatus),
    "Mounts of the container, with their effective read-only modes.",
    {
      listType: "map",
      listMapKeys: ["mountPath"],
      patchStrategy: ["merge"],
      patchMergeKey: "mountPath",
    },
  ),
  user: pointer(
    13,
    containerUser,
    "Identity that the first process started with. Beta: feature gate SupplementalGroupsPolicy.",
  ),
  allocatedResourcesStatus: value(
    14,
    list(resourceStatus),
    "Health of the devices allocated to the container. Alpha: requires the feature gate " +
      "ResourceHealthStatus.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge"],
      patchMergeKey: "name",
      gate: "ResourceHealthStatus",
    },
  ),
  stopSignal: pointer(
    15,
    signal,
    "Signal that terminates the container, for example SIGTERM. Alpha: kubelets report it with " +
      "the feature gate ContainerStopSignals.",
  ),
});

const podResourceClaimStatus = v1(
  "PodResourceClaimStatus",
  "ResourceClaim that belongs to one entry of spec.resourceClaims.",
  {
    name: required(1, string, "Name of the entry in spec.resourceClaims."),
    resourceClaimName: pointer(
      2,
      string,
      "Name of the ResourceClaim created for the entry. Absent if none was needed.",
    ),
  },
);

const containerExtendedResourceRequest = v1(
  "ContainerExtendedResourceRequest",
  "Request of a ResourceClaim that backs an extended resource of a container.",
  {
    containerName: required(
      1,
      string,
      "Name of the container that requests the extended resource.",
    ),
    resourceName: required(2, string, "Name of the extended resource."),
    requestName: required(3, string, "Name of the request in the ResourceClaim."),
  },
);

const podExtendedResourceClaimStatus = v1(
  "PodExtendedResourceClaimStatus",
  "ResourceClaim that the scheduler created for the extended resources of a pod.",
  {
    requestMappings: required(
      1,
      list(containerExtendedResourceRequest),
      "Requests of the claim by container and extended resource.",
      { listType: "atomic" },
    ),
    resourceClaimName: required(
      2,
      string,
      "Name of the ResourceClaim, in the namespace of the pod.",
    ),
  },
);

export const podStatus = v1(
  "PodStatus",
  "Observed state of a pod. It may trail the actual state, especially when the node " +
    "cannot reach the API server.",
  {
    observedGeneration: value(
      17,
      int64,
      "Value of metadata.generation that this status describes. Beta: feature gate " +
        "PodObservedGenerationTracking.",
    ),
    phase: value(
      1,
      named("v1.PodPhase", "Pending", "Running", "Succeeded", "Failed", "Unknown"),
      "Summary of the lifecycle. One of Pending (not all containers started), Running, " +
        "Succeeded (all terminated with success), Failed (all terminated, at least one with " +
        "failure), Unknown.",
    ),
    conditions: value(
      2,
      list(podCondition),
      "Latest observed conditions, one entry per condition type.",
      {
        listType: "map",
        listMapKeys: ["type"],
        patchStrategy: ["merge"],
        patchMergeKey: "type",
      },
    ),
    message: value(3, string, "Human-readable explanation of the state of the pod."),
    reason: value(
      4,
      string,
      "Machine-readable CamelCase reason for the state, for example Evicted.",
    ),
    nominatedNodeName: value(
      11,
      string,
      "Node on which the scheduler expects to place the pod, after lower-priority pods were " +
        "preempted there. The pod may still end up elsewhere.",
    ),
    hostIP: value(5, string, "Primary IP address of the node."),
    hostIPs: value(16, list(hostIP), "IP addresses of the node, the first equal to hostIP.", {
      listType: "atomic",
      patchStrategy: ["merge"],
      patchMergeKey: "ip",
    }),
    podIP: value(
      6,
      string,
      "Primary IP address of the pod, reachable within the cluster. Empty until it is allocated.",
    ),
    podIPs: value(
      12,
      list(podIP),
      "IP addresses of the pod, at most one per IP family. The first equals podIP.",
      {
        listType: "map",
        listMapKeys: ["ip"],
        patchStrategy: ["merge"],
        patchMergeKey: "ip",
      },
    ),
    startTime: pointer(
      7,
      time,
      "Time at which the kubelet acknowledged the pod, before it pulled any image.",
    ),
    initContainerStatuses: value(
      10,
      list(containerStatus),
      "States of the init containers, in the order of the specification.",
      { listType: "atomic" },
    ),
    containerStatuses: value(8, list(containerStatus), "States of the application containers.", {
      listType: "atomic",
    }),
    qosClass: value(
      9,
      named("v1.PodQOSClass", "Guaranteed", "Burstable", "BestEffort"),
      "Quality of service class derived from requests and limits: one of Guaranteed, " +
        "Burstable, BestEffort. Decides the order of eviction. Immutable.",
    ),
    ephemeralContainerStatuses: value(
      13,
      list(containerStatus),
      "States of the ephemeral containers.",
      { listType: "atomic" },
    ),
    resize: value(
      14,
      named("v1.PodResizeStatus"),
      "Deprecated: state of an in-place resize, now in conditions PodResizePending and " +
        "PodResizeInProgress.",
    ),
    resourceClaimStatuses: value(
      15,
      list(podResourceClaimStatus),
      "ResourceClaims created from templates for entries of spec.resourceClaims.",
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
      "ResourceClaim created for extended resources. Alpha: requires the feature gate " +
        "DRAExtendedResource.",
      { gate: "DRAExtendedResource" },
    ),
  },
);
