/** Status: the response to requests that fail or return no object. */
import { int32, list, named, pointer, value, string, structs } from "#schema";
import { listMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const statusCause = v1("StatusCause", "One cause of a failure.", {
  reason: value(1, named("v1.CauseType"), "Machine-readable cause, for example FieldValueInvalid."),
  message: value(2, string, "Human-readable description of the cause."),
  field: value(3, string, "JSON path of the field at fault, for example `items[0].name`."),
});

const statusDetails = v1("StatusDetails", "Details about the object and the causes of a failure.", {
  name: value(1, string, "Name of the object or resource that the status is about."),
  group: value(2, string, "API group of the resource that the status is about."),
  kind: value(3, string, "Kind or resource that the status is about."),
  uid: value(6, string, "UID of the object that the status is about."),
  causes: value(
    4,
    list(statusCause),
    "Individual causes of the failure, for invalid objects one per field.",
    {
      listType: "atomic",
    },
  ),
  retryAfterSeconds: value(5, int32, "Seconds after which the client should retry."),
});

export const status = v1(
  "Status",
  "Status is the response to a request that returns no object, errors in particular.",
  {
    metadata: value(1, listMeta, "Standard list metadata, usually empty."),
    status: value(2, string, "Outcome of the operation: Success or Failure."),
    message: value(3, string, "Human-readable description of the outcome."),
    reason: value(
      4,
      named("v1.StatusReason"),
      "Machine-readable reason for a failure, for example NotFound or AlreadyExists. Refines " +
        "the status code.",
    ),
    details: pointer(
      5,
      statusDetails,
      "Object concerned, causes and retry delay, depending on the reason.",
      { listType: "atomic" },
    ),
    code: value(6, int32, "HTTP status code of the response. 0 if not set."),
  },
);
