/** One step of a watch stream. */
import { required, string, structs } from "#schema";
import { rawExtension } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const watchEvent = v1("WatchEvent", "A change of one object, as a watch sends it.", {
  type: required(1, string, "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."),
  object: required(2, rawExtension, "The object after the change; for ERROR a Status."),
});
