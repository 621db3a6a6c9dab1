/** What admission webhooks get and answer. */
import { always, bool, bytes, list, map, named, optional, plain, string, structs } from "#schema";
import { rawExtension } from "#meta";
import { userInfo } from "../authentication/user-info.ts";
import { groupVersionKind, groupVersionResource } from "../meta/group-version.ts";
import { status } from "../meta/status.ts";

const v1 = structs("api/admission/v1");

const admissionRequest = v1("AdmissionRequest", "A request that is about to be let in.", {
  uid: always(1, string, "Identifies the call; the response repeats it."),
  kind: always(2, groupVersionKind, "Kind of the object as the webhook asked for it."),
  resource: always(3, groupVersionResource, "Resource as the webhook asked for it."),
  subResource: plain(4, string, "Subresource, as in `scale`; empty means none."),
  requestKind: optional(13, groupVersionKind, "Kind of the object as the client sent it."),
  requestResource: optional(14, groupVersionResource, "Resource as the client asked for it."),
  requestSubResource: plain(15, string, "Subresource as the client asked for it."),
  name: plain(5, string, "Name of the object; empty if it is still to be made up."),
  namespace: plain(6, string, "Namespace of the object."),
  operation: always(
    7,
    named("v1.Operation", "CREATE", "UPDATE", "DELETE", "CONNECT"),
    "What is done: CREATE, UPDATE, DELETE or CONNECT.",
  ),
  userInfo: always(8, userInfo, "Who asks."),
  object: plain(9, rawExtension, "The object as it would be."),
  oldObject: plain(10, rawExtension, "The object as it is, for UPDATE and DELETE."),
  dryRun: optional(11, bool, "True = nothing will be stored."),
  options: plain(12, rawExtension, "Options of the request, as in CreateOptions."),
});

const admissionResponse = v1("AdmissionResponse", "What a webhook makes of a request.", {
  uid: always(1, string, "That of the request."),
  allowed: always(2, bool, "True = the request may go on."),
  status: optional(3, status, "Why not, and with which code."),
  patch: plain(4, bytes, "Changes to the object."),
  patchType: optional(5, named("v1.PatchType", "JSONPatch"), "How they are told: JSONPatch."),
  auditAnnotations: plain(6, map(string), "What to add to the audit event."),
  warnings: plain(7, list(string), "What to warn the client of."),
});

export const admissionReviewV1 = v1("AdmissionReview", "A call of an admission webhook.", {
  request: optional(1, admissionRequest, "What is asked."),
  response: optional(2, admissionResponse, "What is answered."),
});
