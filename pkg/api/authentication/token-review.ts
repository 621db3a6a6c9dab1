import { required, bool, list, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { userInfo } from "./user-info.ts";

const v1 = structs("api/authentication/v1");
const atomic = { listType: "atomic" } as const;

const tokenReviewSpec = v1("TokenReviewSpec", "Specification of a TokenReview.", {
  token: value(1, string, "Bearer token to authenticate, without the prefix `Bearer`."),
  audiences: value(
    2,
    list(string),
    "Audiences that the caller identifies as: the token must be valid for at least one of " +
      "them. Defaults to the audiences of the API server.",
    atomic,
  ),
});

const tokenReviewStatus = v1("TokenReviewStatus", "Result of a TokenReview.", {
  authenticated: value(1, bool, "Whether the token is valid and belongs to a known user."),
  user: value(2, userInfo, "User that the token belongs to, if authenticated is true."),
  audiences: value(
    4,
    list(string),
    "Requested audiences for which the token is valid. Clients that specify audiences must " +
      "check that theirs is listed.",
    atomic,
  ),
  error: value(3, string, "Reason why the token could not be checked."),
});

const tokenReviewV1 = v1(
  "TokenReview",
  "TokenReview attempts to authenticate a bearer token to a known user. It is not stored.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, tokenReviewSpec, "Token to review, and the expected audiences."),
    status: value(3, tokenReviewStatus, "Result of the review. Set by the API server."),
  },
);

/** TokenReview is answered on creation and never stored. */
export const tokenReview = kind(tokenReviewV1, {
  group: "authentication.{api}",
  kind: "TokenReview",
  formerVersions: ["v1beta1"],
  plural: "tokenreviews",
  scope: "Cluster",
  verbs: ["create"],
  versions: [{ version: "v1", struct: tokenReviewV1, onByDefault: true, convert: "hub" }],
  columns: plainColumns,
  row: plainRow,
});
