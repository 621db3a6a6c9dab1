/** WatchEvent: one event of a watch stream. */
import { required, string, structs } from "#schema";
import { rawExtension } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const watchEvent = v1("WatchEvent", "WatchEvent is one event of a watch stream.", {
  type: required(1, string, "Type of the event: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."),
  object: required(
    2,
    rawExtension,
    "Object after the change, or its last state for DELETED. Only kind and resourceVersion " +
      "for BOOKMARK, a Status for ERROR.",
  ),
});
