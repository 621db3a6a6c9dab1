import { value, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { userInfo } from "./user-info.ts";

const v1 = structs("api/authentication/v1");

const selfSubjectReviewStatus = v1("SelfSubjectReviewStatus", "Who the client is.", {
  userInfo: value(1, userInfo, "Who the client is."),
});

const selfSubjectReviewV1 = v1("SelfSubjectReview", "Asks who the client itself is.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  status: value(2, selfSubjectReviewStatus, "Who the client is; filled in by the server."),
});

/** Never stored. */
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
