/** Amounts of resources that containers ask for. */
import { required, list, map, named, value, string, structs } from "#schema";
import { quantity } from "#meta";

const v1 = structs("api/core/v1");

const resourceClaim = v1(
  "ResourceClaim",
  "Makes one of the pod's resource claims available in a container.",
  {
    name: required(1, string, "Name of the claim in `spec.resourceClaims` of the pod."),
    request: value(2, string, "Name of one request within the claim; empty means all of them."),
  },
);

export const resourceRequirements = v1(
  "ResourceRequirements",
  "What is asked for, and how much may be used at most.",
  {
    limits: value(1, map(quantity), "Largest amount of each resource."),
    requests: value(
      2,
      map(quantity),
      "Amount of each resource that is set aside; defaults to the limit.",
    ),
    claims: value(
      3,
      list(resourceClaim),
      "Resource claims that are used, for dynamically allocated devices.",
      { listType: "map", listMapKeys: ["name"] },
    ),
  },
);

export const containerResizePolicy = v1(
  "ContainerResizePolicy",
  "What happens to a container when one of its resources changes.",
  {
    resourceName: required(1, named("v1.ResourceName"), "The resource: cpu or memory."),
    restartPolicy: required(
      2,
      named("v1.ResourceResizeRestartPolicy"),
      "NotRequired or RestartContainer.",
    ),
  },
);

export const volumeResourceRequirements = v1(
  "VolumeResourceRequirements",
  "Storage that is asked for.",
  {
    limits: value(1, map(quantity), "Largest amount of each resource."),
    requests: value(2, map(quantity), "Least amount of each resource."),
  },
);
