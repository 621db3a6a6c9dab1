/** Structs of the core group that only travel. */
import { value, structs } from "#schema";
import { objectMeta } from "#meta";
import { podStatus } from "./pod-status.ts";
import { objectReference } from "../shared/references.ts";

const v1 = structs("api/core/v1");

export const podStatusResult = v1("PodStatusResult", "The status of a pod as a node tells it.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  status: value(2, podStatus, "What has become of the pod."),
});

export const serializedReference = v1("SerializedReference", "A reference kept in an annotation.", {
  reference: value(1, objectReference, "The object."),
});
