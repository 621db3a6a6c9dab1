import { required, bool, list, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { userInfo } from "./user-info.ts";

const v1 = structs("api/authentication/v1");
const atomic = { listType: "atomic" } as const;

const tokenReviewSpec = v1("TokenReviewSpec", "The token to look at.", {
  token: value(1, string, "The token."),
  audiences: value(2, list(string), "Who would take it; empty means the API server.", atomic),
});

const tokenReviewStatus = v1("TokenReviewStatus", "What the token is.", {
  authenticated: value(1, bool, "True = the token is good."),
  user: value(2, userInfo, "Whose it is."),
  audiences: value(4, list(string), "Those asked for that the token is meant for.", atomic),
  error: value(3, string, "Why it could not be checked."),
});

const tokenReviewV1 = v1("TokenReview", "Asks whether a token is good, and whose it is.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: required(2, tokenReviewSpec, "The token to look at."),
  status: value(3, tokenReviewStatus, "What the token is; filled in by the server."),
});

/** Never stored. */
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
