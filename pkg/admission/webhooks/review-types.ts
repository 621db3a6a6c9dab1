/** Response fields of AdmissionReview that the server reads. */
import { bool, bytes, int32, list, map, pointer, string, structs, value } from "#schema";

const meta = structs("meta/v1");

const statusDetails = meta("StatusDetails", "Details of a refusal.", {
  name: value(1, string, "Name of the object."),
  group: value(2, string, "Group of the object."),
  kind: value(3, string, "Kind of the object."),
  causes: value(
    4,
    list(
      meta("StatusCause", "One cause of a refusal.", {
        reason: value(1, string, "Machine-readable cause."),
        message: value(2, string, "Human-readable cause."),
        field: value(3, string, "Path of the field."),
      }),
    ),
    "Causes of the refusal.",
  ),
  retryAfterSeconds: value(5, int32, "Seconds after which a client may retry."),
  uid: value(6, string, "UID of the object."),
});

const status = meta("Status", "Refusal of a webhook.", {
  status: value(2, string, "Success or Failure."),
  message: value(3, string, "Human-readable reason."),
  reason: value(4, string, "Machine-readable reason."),
  details: pointer(5, statusDetails, "Details of the refusal."),
  code: value(6, int32, "HTTP status code."),
});

function reviewOf(version: string) {
  const structsOf = structs(`admission/${version}`);
  const response = structsOf("AdmissionResponse", "Response of a webhook.", {
    uid: value(1, string, "UID of the request."),
    allowed: value(2, bool, "Whether the request is allowed."),
    status: pointer(3, status, "Reason of a refusal."),
    patch: value(4, bytes, "Patch of the object."),
    patchType: pointer(5, string, "Type of the patch."),
    auditAnnotations: value(6, map(string), "Annotations of the audit event."),
    warnings: value(7, list(string), "Warnings for the client."),
  });
  return structsOf("AdmissionReview", "Request to a webhook, and its response.", {
    response: pointer(2, response, "Response of the webhook."),
  });
}

export const reviewV1 = reviewOf("v1");
export const reviewV1beta1 = reviewOf("v1beta1");

export interface Response {
  readonly uid?: string;
  readonly allowed?: boolean;
  readonly status?: Readonly<Record<string, unknown>>;
  /** Base64. */
  readonly patch?: string;
  readonly patchType?: string;
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  readonly warnings?: readonly string[];
}

export interface DecodedReview {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly response?: Response;
}
