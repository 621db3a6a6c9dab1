import { badRequest } from "#meta";
import type { CreateHandler } from "#registry";
import { userInfoOf } from "../self-subject-review.ts";
import type { TokenReviewResult, UnionTokenAuthenticator } from "./token-authenticator.ts";

/** TokenReview: authenticates a token for another server. */
export function tokenReview(tokens: UnionTokenAuthenticator): CreateHandler {
  return {
    handle: async ({ object, request }) => {
      const { token = "", audiences = [] } = object.spec;
      if (token === "") throw badRequest("token is required for TokenReview in authentication");
      const { identity, errors } = await tokens.review(token, audiences, request.context);
      return { ...object, status: identity ? authenticated(identity) : rejected(errors) };
    },
  };
}

function authenticated({ user, audiences }: NonNullable<TokenReviewResult["identity"]>): object {
  return { authenticated: true, user: userInfoOf(user), audiences };
}

function rejected(errors: readonly string[]): object {
  const all = ["invalid bearer token", ...errors];
  return { user: {}, error: all.length === 1 ? all[0] : `[${all.join(", ")}]` };
}
