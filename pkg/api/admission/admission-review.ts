/** AdmissionReview, the request and response of admission webhooks. */
import { required, bool, bytes, list, map, named, pointer, value, string, structs } from "#schema";
import { rawExtension } from "#meta";
import { userInfo } from "../authentication/user-info.ts";
import { groupVersionKind, groupVersionResource } from "../meta/group-version.ts";
import { status } from "../meta/status.ts";

const v1 = structs("api/admission/v1");

const admissionRequest = v1(
  "AdmissionRequest",
  "Request that the API server asks an admission webhook to review.",
  {
    uid: required(1, string, "Identifier of this call. The response must repeat it."),
    kind: required(
      2,
      groupVersionKind,
      "Kind of object, converted to the version that the webhook's rules name.",
    ),
    resource: required(
      3,
      groupVersionResource,
      "Resource as the webhook's rules name it. With matchPolicy Equivalent it may differ " +
        "from requestResource.",
    ),
    subResource: value(
      4,
      string,
      "Subresource of the request, for example `scale`. Empty for the object itself.",
    ),
    requestKind: pointer(13, groupVersionKind, "Kind of the object as the client sent it."),
    requestResource: pointer(
      14,
      groupVersionResource,
      "Resource of the original request, before conversion for the webhook.",
    ),
    requestSubResource: value(15, string, "Subresource of the original request, if any."),
    name: value(5, string, "Name of the object. Empty on creation with generateName."),
    namespace: value(
      6,
      string,
      "Namespace of the request. Empty for cluster-scoped objects other than namespaces.",
    ),
    operation: required(
      7,
      named("v1.Operation", "CREATE", "UPDATE", "DELETE", "CONNECT"),
      "Operation to admit: one of CREATE, UPDATE, DELETE, CONNECT.",
    ),
    userInfo: required(8, userInfo, "User that sent the request, after impersonation."),
    object: value(9, rawExtension, "Object as it would be stored. Null for DELETE."),
    oldObject: value(
      10,
      rawExtension,
      "Object as it is stored now, for UPDATE and DELETE. Null otherwise.",
    ),
    dryRun: pointer(
      11,
      bool,
      "Whether nothing will be stored, so that the webhook must avoid side effects. Defaults " +
        "to false.",
    ),
    options: value(
      12,
      rawExtension,
      "Options of the request: CreateOptions, UpdateOptions, DeleteOptions or PatchOptions.",
    ),
  },
);

const admissionResponse = v1("AdmissionResponse", "Decision of an admission webhook.", {
  uid: required(1, string, "UID of the request that is answered."),
  allowed: required(2, bool, "Whether the request may proceed."),
  status: pointer(
    3,
    status,
    "Error for the client when the request is denied: message and HTTP code.",
  ),
  patch: value(
    4,
    bytes,
    "JSON patch to apply to the object, encoded in base64. Only for mutating webhooks.",
  ),
  patchType: pointer(
    5,
    named("v1.PatchType", "JSONPatch"),
    "Format of the patch: always JSONPatch. Required together with patch.",
  ),
  auditAnnotations: value(
    6,
    map(string),
    "Annotations for the audit event. The server prefixes each key with the name of the webhook.",
  ),
  warnings: value(
    7,
    list(string),
    "Warnings for the client, sent as HTTP headers. Best kept below 120 characters each.",
  ),
});

export const admissionReviewV1 = v1(
  "AdmissionReview",
  "AdmissionReview is the body of a call to an admission webhook: request one way, " +
    "response the other.",
  {
    request: pointer(1, admissionRequest, "Request to review. Set by the API server."),
    response: pointer(2, admissionResponse, "Decision about the request. Set by the webhook."),
  },
);
