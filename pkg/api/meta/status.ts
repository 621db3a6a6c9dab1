/** The answer to a request that has no object to give: wire form of Status. */
import { int32, list, named, pointer, value, string, structs } from "#schema";
import { listMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const statusCause = v1(
  "StatusCause",
  "One reason for a failure, where possible with the field it is about.",
  {
    reason: value(1, named("v1.CauseType"), "Machine-readable kind of the cause."),
    message: value(2, string, "The cause in words."),
    field: value(3, string, "Path of the field that caused the failure, as in `items[0].name`."),
  },
);

const statusDetails = v1("StatusDetails", "What a Status is about, in more detail.", {
  name: value(1, string, "Name of the object concerned."),
  group: value(2, string, "API group of that object."),
  kind: value(3, string, "Resource or kind of that object."),
  uid: value(6, string, "UID of that object."),
  causes: value(4, list(statusCause), "The single causes of the failure.", {
    listType: "atomic",
  }),
  retryAfterSeconds: value(5, int32, "Seconds to wait before another attempt makes sense."),
});

export const status = v1("Status", "Outcome of a request that answers no object.", {
  metadata: value(1, listMeta, "List metadata; usually empty."),
  status: value(2, string, "Success or Failure."),
  message: value(3, string, "The outcome in words."),
  reason: value(4, named("v1.StatusReason"), "Machine-readable reason of a failure."),
  details: pointer(5, statusDetails, "What the outcome is about.", { listType: "atomic" }),
  code: value(6, int32, "HTTP status code, zero if unset."),
});
