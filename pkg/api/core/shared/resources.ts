/** Structs of resource requirements. */
import { required, list, map, named, value, string, structs } from "#schema";
import { quantity } from "#meta";

const v1 = structs("api/core/v1");

/** ResourceList: quantities by resource name. */
export const resourceList = map(quantity, "v1.ResourceList");

const resourceClaim = v1(
  "ResourceClaim",
  "Entry of the pod's spec.resourceClaims that a container uses.",
  {
    name: required(1, string, "Name of an entry in spec.resourceClaims of the pod."),
    request: value(
      2,
      string,
      "Name of a request in the claim, to use only the devices allocated for it. If empty, all " +
        "devices of the claim are available.",
    ),
  },
);

export const resourceRequirements = v1(
  "ResourceRequirements",
  "Requests and limits of compute resources.",
  {
    limits: value(
      1,
      resourceList,
      "Maximum amount of compute resources allowed, by resource. CPU beyond it is throttled; a " +
        "container that exceeds its memory limit is killed.",
    ),
    requests: value(
      2,
      resourceList,
      "Minimum amount of compute resources required, by resource, which scheduling is based " +
        "on. Must not exceed limits. Defaults to limits if set, otherwise to an " +
        "implementation-defined value.",
    ),
    claims: value(
      3,
      list(resourceClaim),
      "Entries of the pod's spec.resourceClaims that the container uses. Only for containers. " +
        "Immutable in existing pods.",
      { listType: "map", listMapKeys: ["name"] },
    ),
  },
);

export const containerResizePolicy = v1(
  "ContainerResizePolicy",
  "In-place resize policy of a container for one resource.",
  {
    resourceName: required(
      1,
      named("v1.ResourceName"),
      "Resource that the policy applies to: cpu or memory.",
    ),
    restartPolicy: required(
      2,
      named("v1.ResourceResizeRestartPolicy"),
      "Restart policy of a resize: one of NotRequired (resize without a restart), " +
        "RestartContainer. Defaults to NotRequired.",
    ),
  },
);

export const volumeResourceRequirements = v1(
  "VolumeResourceRequirements",
  "Storage resources that a claim requests.",
  {
    limits: value(1, resourceList, "Maximum storage, by resource."),
    requests: value(
      2,
      resourceList,
      "Minimum storage, by resource: `storage`, in bytes. Can be increased later if the " +
        "StorageClass allows expansion, and reduced, but not down to status.capacity, to " +
        "recover from a failed expansion.",
    ),
  },
);
