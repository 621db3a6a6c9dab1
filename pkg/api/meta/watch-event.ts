/** WatchEvent: one event of a watch stream. */
import { required, string, structs } from "#schema";
import { rawExtension } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const watchEvent = v1("WatchEvent", "WatchEvent represents a single event of a watch.", {
  type: required(1, string, "Type of the event: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."),
  object: required(
    2,
    rawExtension,
    "Object: its new state for ADDED and MODIFIED, the last one for DELETED, kind and resource " +
      "version only for BOOKMARK, and a Status for ERROR.",
  ),
});
