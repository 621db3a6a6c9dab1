/** The answer to a request that has no object to give: wire form of Status. */
import { int32, list, named, optional, plain, string, structs } from "#schema";
import { listMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const statusCause = v1(
  "StatusCause",
  "One reason for a failure, where possible with the field it is about.",
  {
    reason: plain(1, named("v1.CauseType"), "Machine-readable kind of the cause."),
    message: plain(2, string, "The cause in words."),
    field: plain(3, string, "Path of the field that caused the failure, as in `items[0].name`."),
  },
);

const statusDetails = v1("StatusDetails", "What a Status is about, in more detail.", {
  name: plain(1, string, "Name of the object concerned."),
  group: plain(2, string, "API group of that object."),
  kind: plain(3, string, "Resource or kind of that object."),
  uid: plain(6, string, "UID of that object."),
  causes: plain(4, list(statusCause), "The single causes of the failure.", {
    listType: "atomic",
  }),
  retryAfterSeconds: plain(5, int32, "Seconds to wait before another attempt makes sense."),
});

export const status = v1("Status", "Outcome of a request that answers no object.", {
  metadata: plain(1, listMeta, "List metadata; usually empty."),
  status: plain(2, string, "Success or Failure."),
  message: plain(3, string, "The outcome in words."),
  reason: plain(4, named("v1.StatusReason"), "Machine-readable reason of a failure."),
  details: optional(5, statusDetails, "What the outcome is about.", { listType: "atomic" }),
  code: plain(6, int32, "HTTP status code, zero if unset."),
});
