import { type Infer, value, structs } from "#schema";
import { objectMeta } from "#meta";
import { podSpec } from "./spec/pod-spec.ts";
import { podStatus } from "./pod-status.ts";

export const podV1 = structs("api/core/v1")("Pod", "Containers that run together on a node.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, podSpec, "What the pod is to be."),
  status: value(3, podStatus, "What has become of it."),
});

export type Pod = Infer<typeof podV1>;
