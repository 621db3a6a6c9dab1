/** Core structs that are sent but never stored. */
import { value, structs } from "#schema";
import { objectMeta } from "#meta";
import { podStatus } from "./pod-status.ts";
import { objectReference } from "../shared/references.ts";

const v1 = structs("api/core/v1");

export const podStatusResult = v1(
  "PodStatusResult",
  "PodStatusResult wraps the status of a pod, as returned by a node.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    status: value(2, podStatus, "Status of the pod on its node."),
  },
);

export const serializedReference = v1(
  "SerializedReference",
  "SerializedReference wraps the reference to an object for storage in an annotation.",
  {
    reference: value(1, objectReference, "Reference to the object."),
  },
);
