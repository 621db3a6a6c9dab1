import { type Awaitable, firstDefined, recoverAwaitable, chainAwaitable } from "#base";
import type { Domain } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import { bearerToken } from "./bearer-token.ts";
import { unauthorized } from "../unauthorized.ts";
import { withAuthenticatedGroup } from "../authenticated-group.ts";
import { webSocketToken } from "./websocket-bearer-token.ts";

/** User that a token authenticates. */
export interface TokenIdentity {
  readonly user: User;
  /** Requested audiences for which the token is valid; absent = those of the API server. */
  readonly audiences?: readonly string[];
}

/** A token of the authenticator's kind is invalid. TokenReviews may report the message. */
export class InvalidTokenError extends Error {
  override readonly name = "InvalidTokenError";
}

/** Lifetime of the request that waits for the result. */
export type TokenCaller = Pick<Credentials, "signal">;

export interface TokenAuthenticator {
  /**
   * Authenticates a token for the requested audiences. Returns undefined for a token of another kind.
   * @throws InvalidTokenError, or the reason of the caller's signal
   */
  authenticateToken(
    token: string,
    audiences: readonly string[],
    caller: TokenCaller,
  ): Awaitable<TokenIdentity | undefined>;
}

export interface TokenReviewResult {
  /** User, and the requested audiences for which the token is valid; undefined = invalid token. */
  readonly identity: { readonly user: User; readonly audiences: readonly string[] } | undefined;
  /** Errors of authenticators; empty if one accepts the token. */
  readonly errors: readonly string[];
}

/** Tries token authenticators in order; the first that accepts the token decides. */
export class UnionTokenAuthenticator implements Authenticator {
  /** `audiences` are those of the API server. */
  constructor(
    private readonly authenticators: readonly TokenAuthenticator[],
    private readonly audiences: readonly string[],
    private readonly domain: Domain,
  ) {}

  authenticate(credentials: Credentials): Awaitable<User | undefined> {
    const token = bearerToken(credentials) ?? webSocketToken(credentials, this.domain);
    if (token === undefined) return undefined;
    return chainAwaitable(this.review(token, [], credentials), ({ identity }) => {
      if (identity === undefined) throw unauthorized();
      return identity.user;
    });
  }

  /** Authenticates a token for `requested` audiences; none = those of the API server. */
  review(
    token: string,
    requested: readonly string[],
    caller: TokenCaller,
  ): Awaitable<TokenReviewResult> {
    const audiences = requested.length > 0 ? requested : this.audiences;
    const errors: string[] = [];
    const collectError = (error: unknown) => {
      if (!(error instanceof InvalidTokenError)) throw error;
      errors.push(error.message);
      return undefined;
    };
    const tryOne = (authenticator: TokenAuthenticator) => {
      const found = recoverAwaitable(
        () => authenticator.authenticateToken(token, audiences, caller),
        collectError,
      );
      return chainAwaitable(
        found,
        (identity) => identity && this.forAudiences(identity, audiences),
      );
    };
    return chainAwaitable(firstDefined(this.authenticators, tryOne), (identity) => ({
      identity,
      errors: identity === undefined ? errors : [],
    }));
  }

  /** User and accepted audiences; undefined = valid for none of the requested audiences. */
  private forAudiences(
    { user, audiences: accepted }: TokenIdentity,
    requested: readonly string[],
  ): TokenReviewResult["identity"] {
    const audiences = accepted ?? requested.filter((each) => this.audiences.includes(each));
    if (audiences.length === 0) return undefined;
    return { user: withAuthenticatedGroup(user), audiences };
  }
}
