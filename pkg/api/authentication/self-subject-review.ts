import { value, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { userInfo } from "./user-info.ts";

const v1 = structs("api/authentication/v1");

const selfSubjectReviewStatus = v1("SelfSubjectReviewStatus", "Result of a SelfSubjectReview.", {
  userInfo: value(
    1,
    userInfo,
    "Attributes of the user that makes the request, after impersonation.",
  ),
});

const selfSubjectReviewV1 = v1(
  "SelfSubjectReview",
  "SelfSubjectReview returns the user as whom the API server authenticated the request. It is " +
    "not stored.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    status: value(2, selfSubjectReviewStatus, "Result of the review. Set by the API server."),
  },
);

/** SelfSubjectReview is answered on creation and never stored. */
export const selfSubjectReview = kind(selfSubjectReviewV1, {
  group: "authentication.{api}",
  kind: "SelfSubjectReview",
  formerVersions: ["v1alpha1", "v1beta1"],
  plural: "selfsubjectreviews",
  scope: "Cluster",
  verbs: ["create"],
  versions: [{ version: "v1", struct: selfSubjectReviewV1, onByDefault: true, convert: "hub" }],
  columns: plainColumns,
  row: plainRow,
});
