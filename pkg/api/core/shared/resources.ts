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
    name: required(1, string, "Name of the entry in spec.resourceClaims of the pod."),
    request: value(
      2,
      string,
      "Name of one request within the claim. When absent, everything in the claim is available.",
    ),
  },
);

export const resourceRequirements = v1(
  "ResourceRequirements",
  "Compute resources that are requested, and their limits.",
  {
    limits: value(
      1,
      resourceList,
      "Largest amount allowed, by resource. CPU is throttled; exceeding memory kills the container.",
    ),
    requests: value(
      2,
      resourceList,
      "Amount reserved, by resource, on which scheduling is based. Must not exceed the " +
        "limit. Defaults to the limit if there is one, otherwise to a value of the " +
        "implementation.",
    ),
    claims: value(
      3,
      list(resourceClaim),
      "ResourceClaims of the pod that the container uses. Immutable in existing pods.",
      { listType: "map", listMapKeys: ["name"] },
    ),
  },
);

export const containerResizePolicy = v1(
  "ContainerResizePolicy",
  "Behavior of a container when one of its resources is resized in place.",
  {
    resourceName: required(
      1,
      named("v1.ResourceName"),
      "Resource that the policy applies to: cpu or memory.",
    ),
    restartPolicy: required(
      2,
      named("v1.ResourceResizeRestartPolicy"),
      "One of NotRequired (resize without restart), RestartContainer. Defaults to NotRequired.",
    ),
  },
);

export const volumeResourceRequirements = v1(
  "VolumeResourceRequirements",
  "Storage that a claim requests.",
  {
    limits: value(1, resourceList, "Largest amount of storage that is acceptable."),
    requests: value(
      2,
      resourceList,
      "Smallest amount of storage that is acceptable: `storage`, in bytes. May be increased " +
        "later if the class allows expansion, but not below status.capacity.",
    ),
  },
);
