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
  mergedBy,
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
      "PodReadyToStartContainers, PodResizePending, PodResizeInProgress, DisruptionTarget, or " +
      "one that a readiness gate refers to.",
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
  ip: required(1, string, "IPv4 or IPv6 address."),
});

const podIP = v1("PodIP", "IP address of a pod.", {
  ip: required(1, string, "IPv4 or IPv6 address."),
});

const containerStateWaiting = v1("ContainerStateWaiting", "Waiting state of a container.", {
  reason: value(
    1,
    string,
    "Machine-readable CamelCase reason why the container is not yet running, for example " +
      "ImagePullBackOff.",
  ),
  message: value(2, string, "Human-readable message about why the container is not yet running."),
});

const containerStateRunning = v1("ContainerStateRunning", "Running state of a container.", {
  startedAt: value(1, time, "Time at which the container was last started."),
});

const containerStateTerminated = v1(
  "ContainerStateTerminated",
  "Terminated state of a container.",
  {
    exitCode: required(1, int32, "Exit code of the container."),
    signal: value(2, int32, "Number of the signal that terminated the container, if any."),
    reason: value(
      3,
      string,
      "Machine-readable CamelCase reason of the termination, for example Completed or OOMKilled.",
    ),
    message: value(
      4,
      string,
      "Termination message of the container, or a message about its termination.",
    ),
    startedAt: value(5, time, "Time at which this run of the container started."),
    finishedAt: value(6, time, "Time at which this run of the container terminated."),
    containerID: value(7, string, "ID of the container, in the form `<runtime>://<id>`."),
  },
);

const containerState = v1(
  "ContainerState",
  "State of a container. At most one field is set; without any, the container is waiting.",
  {
    waiting: pointer(
      1,
      containerStateWaiting,
      "Details about a container that is waiting to start.",
    ),
    running: pointer(2, containerStateRunning, "Details about a container that is running."),
    terminated: pointer(
      3,
      containerStateTerminated,
      "Details about a container that has terminated.",
    ),
  },
);

const volumeMountStatus = v1("VolumeMountStatus", "Status of a volume mount.", {
  name: required(1, string, "Name of the volume mount."),
  mountPath: required(2, string, "Mount path within the container."),
  readOnly: value(3, bool, "Whether the mount is read-only."),
  recursiveReadOnly: pointer(
    4,
    named("v1.RecursiveReadOnlyMode"),
    "Whether a read-only mount is recursively read-only: Disabled or Enabled. Absent if the " +
      "mount is not read-only.",
  ),
});

const linuxContainerUser = v1(
  "LinuxContainerUser",
  "Linux user identity of the first process of a container, when it was started.",
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
  "User identity of the first process of a container, when it was started.",
  {
    linux: pointer(1, linuxContainerUser, "User identity on Linux nodes."),
  },
);

const resourceHealth = v1(
  "ResourceHealth",
  "Health of one device that is allocated to the container.",
  {
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
  },
);

const resourceStatus = v1(
  "ResourceStatus",
  "Status of one resource that is allocated to a container, such as devices.",
  {
    name: required(
      1,
      named("v1.ResourceName"),
      "Name of the resource. For devices of a ResourceClaim, `claim:<claim>/<request>`.",
    ),
    resources: value(2, list(resourceHealth), "Health of each allocated device.", {
      listType: "map",
      listMapKeys: ["resourceID"],
    }),
  },
);

const containerStatus = v1("ContainerStatus", "Observed state of a container.", {
  name: required(1, string, "Name of the container, as in the specification of the pod."),
  state: value(2, containerState, "Current state of the container."),
  lastState: value(
    3,
    containerState,
    "Last termination state of the container, for debugging crashes and restarts.",
  ),
  ready: required(
    4,
    bool,
    "Whether the container passes its readiness probe. Without a probe, true once the " +
      "container has started.",
  ),
  restartCount: required(
    5,
    int32,
    "Number of restarts of the container. It can be reset when the node loses its state.",
  ),
  image: required(
    6,
    string,
    "Name of the image that the container runs. The container runtime may have resolved it to " +
      "another name than the one in the specification.",
  ),
  imageID: required(7, string, "ID of the image that the container runs."),
  containerID: value(8, string, "ID of the container, in the form `<runtime>://<id>`."),
  started: pointer(
    9,
    bool,
    "Whether the postStart hook has finished and the startup probe has passed. Reset when the " +
      "container restarts.",
  ),
  allocatedResources: value(
    10,
    resourceList,
    "Resources that the node has allocated to the container. Beta: feature gate " +
      "InPlacePodVerticalScaling.",
    { gate: "InPlacePodVerticalScaling" },
  ),
  resources: pointer(
    11,
    resourceRequirements,
    "Requests and limits in effect for the running container.",
  ),
  volumeMounts: value(
    12,
    list(volumeMountStatus),
    "Status of the volume mounts, including recursive read-only ones.",
    mergedBy("mountPath"),
  ),
  user: pointer(
    13,
    containerUser,
    "User identity that the first process was started with. Beta: feature gate " +
      "SupplementalGroupsPolicy.",
  ),
  allocatedResourcesStatus: value(
    14,
    list(resourceStatus),
    "Health of the devices allocated to the container. Alpha: requires the feature gate " +
      "ResourceHealthStatus.",
    {
      ...mergedBy("name"),
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
  "Status of a ResourceClaim that was created for an entry of spec.resourceClaims.",
  {
    name: required(1, string, "Name of the entry in spec.resourceClaims."),
    resourceClaimName: pointer(
      2,
      string,
      "Name of the ResourceClaim that was created for the entry. Absent if none had to be created.",
    ),
  },
);

const containerExtendedResourceRequest = v1(
  "ContainerExtendedResourceRequest",
  "Mapping from an extended resource of a container to a request of a ResourceClaim.",
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
  "ResourceClaim that the scheduler created for extended resources of a pod.",
  {
    requestMappings: required(
      1,
      list(containerExtendedResourceRequest),
      "Mapping from extended resources of containers to requests of the ResourceClaim.",
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
  "Observed state of a pod. It can trail the actual state, especially if the node cannot reach " +
    "the API server.",
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
      "Summary of the lifecycle of the pod. One of Pending (not all containers have been " +
        "started), Running, Succeeded (all containers terminated successfully), Failed (all " +
        "terminated, at least one with an error), Unknown.",
    ),
    conditions: value(
      2,
      list(podCondition),
      "Latest observed conditions, one entry per condition type.",
      mergedBy("type"),
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
      "Node that the pod is expected to run on once the pods that it preempted there have " +
        "terminated. It can still be scheduled to another node.",
    ),
    hostIP: value(5, string, "Primary IP address of the host. Empty until the pod is started."),
    hostIPs: value(
      16,
      list(hostIP),
      "IP addresses of the host, at most one per IP family. The first equals hostIP.",
      {
        listType: "atomic",
        patchStrategy: ["merge"],
        patchMergeKey: "ip",
      },
    ),
    podIP: value(
      6,
      string,
      "Primary IP address of the pod, reachable within the cluster. Empty until it is allocated.",
    ),
    podIPs: value(
      12,
      list(podIP),
      "IP addresses of the pod, at most one per IP family. The first equals podIP.",
      mergedBy("ip"),
    ),
    startTime: pointer(
      7,
      time,
      "Time at which the kubelet acknowledged the pod, before pulling its images.",
    ),
    initContainerStatuses: value(
      10,
      list(containerStatus),
      "Status of the init containers of the pod.",
      { listType: "atomic" },
    ),
    containerStatuses: value(
      8,
      list(containerStatus),
      "Status of the application containers of the pod.",
      {
        listType: "atomic",
      },
    ),
    qosClass: value(
      9,
      named("v1.PodQOSClass", "Guaranteed", "Burstable", "BestEffort"),
      "Quality of service class, derived from requests and limits: one of Guaranteed, " +
        "Burstable, BestEffort. It affects the order of eviction. Immutable.",
    ),
    ephemeralContainerStatuses: value(
      13,
      list(containerStatus),
      "Status of the ephemeral containers of the pod.",
      { listType: "atomic" },
    ),
    resize: value(
      14,
      named("v1.PodResizeStatus"),
      "Deprecated: status of an in-place resize. Use the conditions PodResizePending and " +
        "PodResizeInProgress.",
    ),
    resourceClaimStatuses: value(
      15,
      list(podResourceClaimStatus),
      "Status of the ResourceClaims that were created from ResourceClaimTemplates for the pod.",
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
      "Status of the ResourceClaim that backs extended resources of the pod. Alpha: requires " +
        "the feature gate DRAExtendedResource.",
      { gate: "DRAExtendedResource" },
    ),
  },
);
