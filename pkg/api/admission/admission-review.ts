/** What admission webhooks get and answer. */
import { required, bool, bytes, list, map, named, pointer, value, string, structs } from "#schema";
import { rawExtension } from "#meta";
import { userInfo } from "../authentication/user-info.ts";
import { groupVersionKind, groupVersionResource } from "../meta/group-version.ts";
import { status } from "../meta/status.ts";

const v1 = structs("api/admission/v1");

const admissionRequest = v1("AdmissionRequest", "A request that is about to be let in.", {
  uid: required(1, string, "Identifies the call; the response repeats it."),
  kind: required(2, groupVersionKind, "Kind of the object as the webhook asked for it."),
  resource: required(3, groupVersionResource, "Resource as the webhook asked for it."),
  subResource: value(4, string, "Subresource, as in `scale`; empty means none."),
  requestKind: pointer(13, groupVersionKind, "Kind of the object as the client sent it."),
  requestResource: pointer(14, groupVersionResource, "Resource as the client asked for it."),
  requestSubResource: value(15, string, "Subresource as the client asked for it."),
  name: value(5, string, "Name of the object; empty if it is still to be made up."),
  namespace: value(6, string, "Namespace of the object."),
  operation: required(
    7,
    named("v1.Operation", "CREATE", "UPDATE", "DELETE", "CONNECT"),
    "What is done: CREATE, UPDATE, DELETE or CONNECT.",
  ),
  userInfo: required(8, userInfo, "Who asks."),
  object: value(9, rawExtension, "The object as it would be."),
  oldObject: value(10, rawExtension, "The object as it is, for UPDATE and DELETE."),
  dryRun: pointer(11, bool, "True = nothing will be stored."),
  options: value(12, rawExtension, "Options of the request, as in CreateOptions."),
});

const admissionResponse = v1("AdmissionResponse", "What a webhook makes of a request.", {
  uid: required(1, string, "That of the request."),
  allowed: required(2, bool, "True = the request may go on."),
  status: pointer(3, status, "Why not, and with which code."),
  patch: value(4, bytes, "Changes to the object."),
  patchType: pointer(5, named("v1.PatchType", "JSONPatch"), "How they are told: JSONPatch."),
  auditAnnotations: value(6, map(string), "What to add to the audit event."),
  warnings: value(7, list(string), "What to warn the client of."),
});

export const admissionReviewV1 = v1("AdmissionReview", "A call of an admission webhook.", {
  request: pointer(1, admissionRequest, "What is asked."),
  response: pointer(2, admissionResponse, "What is answered."),
});
