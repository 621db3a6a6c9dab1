import { type Infer, value, structs } from "#schema";
import { objectMeta } from "#meta";
import { podSpec } from "./spec/pod-spec.ts";
import { podStatus } from "./pod-status.ts";

export const podV1 = structs("api/core/v1")(
  "Pod",
  "Pod is a group of containers that run together on one node and share network and storage.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, podSpec, "Containers, volumes and scheduling constraints of the pod."),
    status: value(3, podStatus, "State reported by the kubelet. Read-only."),
  },
);

export type Pod = Infer<typeof podV1>;
