import { badRequest } from "#meta";
import type { CreateHandler } from "#registry";
import { userInfoOf } from "../self-subject-review.ts";
import type { UnionTokenAuthenticator } from "./token-authenticator.ts";

/** TokenReview: authenticates a token for another server. */
export function tokenReview(tokens: UnionTokenAuthenticator): CreateHandler {
  return {
    handle: async ({ object }) => {
      const { token = "", audiences = [] } = object.spec;
      if (token === "") throw badRequest("token is required for TokenReview in authentication");
      const { owner, faults } = await tokens.review(token, audiences);
      return { ...object, status: owner ? accepted(owner) : refused(faults) };
    },
  };
}

type Owner = NonNullable<Awaited<ReturnType<UnionTokenAuthenticator["review"]>>["owner"]>;

function accepted({ user, audiences }: Owner): object {
  return { authenticated: true, user: userInfoOf(user), audiences };
}

function refused(faults: readonly string[]): object {
  const all = ["invalid bearer token", ...faults];
  return { user: {}, error: all.length === 1 ? all[0] : `[${all.join(", ")}]` };
}
