/** Status: the response to requests that fail or return no object. */
import { int32, list, named, pointer, value, string, structs } from "#schema";
import { listMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const statusCause = v1("StatusCause", "Cause of a failure, such as an invalid field.", {
  reason: value(
    1,
    named("v1.CauseType"),
    "Machine-readable type of the cause, for example FieldValueInvalid.",
  ),
  message: value(2, string, "Human-readable description of the cause."),
  field: value(
    3,
    string,
    "Path of the field that caused the failure, for example `items[0].name`.",
  ),
});

const statusDetails = v1("StatusDetails", "Extended data about the reason of a failure.", {
  name: value(1, string, "Name of the object that the status refers to."),
  group: value(2, string, "API group of the resource that the status refers to."),
  kind: value(3, string, "Kind or resource that the status refers to."),
  uid: value(6, string, "UID of the object that the status refers to."),
  causes: value(
    4,
    list(statusCause),
    "Causes of the failure. For invalid objects, one per field error.",
    {
      listType: "atomic",
    },
  ),
  retryAfterSeconds: value(5, int32, "Seconds after which the client should retry the request."),
});

export const status = v1(
  "Status",
  "Status is the response to requests that do not return an object, such as failed ones.",
  {
    metadata: value(1, listMeta, "Standard list metadata."),
    status: value(2, string, "Status of the operation: Success or Failure."),
    message: value(3, string, "Human-readable description of the status of the operation."),
    reason: value(
      4,
      named("v1.StatusReason"),
      "Machine-readable reason for a failure, for example NotFound or AlreadyExists. It " +
        "clarifies the HTTP status code.",
    ),
    details: pointer(
      5,
      statusDetails,
      "Extended data about the reason: the object, causes and retry delay.",
      { listType: "atomic" },
    ),
    code: value(6, int32, "Suggested HTTP status code of the response. 0 if not set."),
  },
);
