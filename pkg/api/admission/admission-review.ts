/** AdmissionReview, the request and response of admission webhooks. */
import { required, bool, bytes, list, map, named, pointer, value, string, structs } from "#schema";
import { rawExtension } from "#meta";
import { userInfo } from "../authentication/user-info.ts";
import { groupVersionKind, groupVersionResource } from "../meta/group-version.ts";
import { status } from "../meta/status.ts";

const v1 = structs("api/admission/v1");

const admissionRequest = v1(
  "AdmissionRequest",
  "Attributes of a request that an admission webhook reviews.",
  {
    uid: required(1, string, "Identifier of this call, which the response must contain."),
    kind: required(
      2,
      groupVersionKind,
      "Kind of object, in the version that the webhook registered for.",
    ),
    resource: required(
      3,
      groupVersionResource,
      "Resource that the webhook registered for. With matchPolicy Equivalent, it can differ " +
        "from requestResource.",
    ),
    subResource: value(
      4,
      string,
      "Subresource of the request, for example `scale`. Empty for the object itself.",
    ),
    requestKind: pointer(
      13,
      groupVersionKind,
      "Kind of the object in the original request, before conversion for the webhook.",
    ),
    requestResource: pointer(
      14,
      groupVersionResource,
      "Resource of the original request, before conversion for the webhook.",
    ),
    requestSubResource: value(15, string, "Subresource of the original request, if any."),
    name: value(5, string, "Name of the object. Can be empty on creation with generateName."),
    namespace: value(
      6,
      string,
      "Namespace of the request. Empty for cluster-scoped objects other than Namespaces.",
    ),
    operation: required(
      7,
      named("v1.Operation", "CREATE", "UPDATE", "DELETE", "CONNECT"),
      "Operation to admit: one of CREATE, UPDATE, DELETE, CONNECT.",
    ),
    userInfo: required(8, userInfo, "User that made the request, after impersonation."),
    object: value(
      9,
      rawExtension,
      "Object from the request, as changed by previous plugins. Null for DELETE.",
    ),
    oldObject: value(10, rawExtension, "Existing object, for UPDATE and DELETE. Null otherwise."),
    dryRun: pointer(
      11,
      bool,
      "Whether this is a dry run: the modifications will not be persisted, and the webhook " +
        "must not have side effects. Defaults to false.",
    ),
    options: value(
      12,
      rawExtension,
      "Options of the operation: CreateOptions, UpdateOptions, DeleteOptions or PatchOptions.",
    ),
  },
);

const admissionResponse = v1("AdmissionResponse", "Response of an admission webhook.", {
  uid: required(1, string, "UID of the request that this responds to."),
  allowed: required(2, bool, "Whether the request is admitted."),
  status: pointer(
    3,
    status,
    "Details for the client why the request is denied: message and HTTP status code. Ignored " +
      "if it is allowed.",
  ),
  patch: value(
    4,
    bytes,
    "JSON patch to apply to the object, base64-encoded. Only for mutating webhooks.",
  ),
  patchType: pointer(
    5,
    named("v1.PatchType", "JSONPatch"),
    "Type of the patch: only JSONPatch is supported. Required with patch.",
  ),
  auditAnnotations: value(
    6,
    map(string),
    "Annotations for the audit event. The API server prefixes the keys with the name of the " +
      "webhook.",
  ),
  warnings: value(
    7,
    list(string),
    "Warnings to return to the client in Warning headers. They should have at most 120 " +
      "characters each.",
  ),
});

export const admissionReviewV1 = v1(
  "AdmissionReview",
  "AdmissionReview is the body of requests to admission webhooks and of their responses.",
  {
    request: pointer(
      1,
      admissionRequest,
      "Attributes of the request to review. Set by the API server.",
    ),
    response: pointer(2, admissionResponse, "Response of the webhook. Set by the webhook."),
  },
);
