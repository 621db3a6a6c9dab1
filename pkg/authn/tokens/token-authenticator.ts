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

/** An invalid token of this kind; TokenReviews may report the message. */
export class InvalidTokenError extends Error {
  override readonly name = "InvalidTokenError";
}

export interface TokenAuthenticator {
  /**
   * Undefined = not a token of this kind.
   * @param audiences requested audiences
   * @throws InvalidTokenError
   */
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Awaitable<TokenIdentity | undefined>;
}

export interface TokenReviewResult {
  readonly owner: { readonly user: User; readonly audiences: readonly string[] } | undefined;
  /** Errors of authenticators. */
  readonly faults: readonly string[];
}

/** Tries token authenticators in order. */
export class UnionTokenAuthenticator implements Authenticator {
  /** `audiences` are those of the API server. */
  constructor(
    private readonly kinds: readonly TokenAuthenticator[],
    private readonly audiences: readonly string[],
    private readonly domain: Domain,
  ) {}

  authenticate(credentials: Credentials): Awaitable<User | undefined> {
    const token = bearerToken(credentials) ?? webSocketToken(credentials, this.domain);
    if (token === undefined) return undefined;
    return chainAwaitable(this.review(token, []), ({ owner }) => {
      if (owner === undefined) throw unauthorized();
      return owner.user;
    });
  }

  /** Authenticates a token for a TokenReview; no audiences = those of the API server. */
  review(token: string, wanted: readonly string[]): Awaitable<TokenReviewResult> {
    const audiences = wanted.length > 0 ? wanted : this.audiences;
    const faults: string[] = [];
    const note = (error: unknown) => {
      if (!(error instanceof InvalidTokenError)) throw error;
      faults.push(error.message);
      return undefined;
    };
    const ask = (kind: TokenAuthenticator) => {
      const found = recoverAwaitable(() => kind.authenticateToken(token, audiences), note);
      return chainAwaitable(found, (owner) => owner && this.acceptedBy(owner, audiences));
    };
    return chainAwaitable(firstDefined(this.kinds, ask), (owner) => ({
      owner,
      faults: owner === undefined ? faults : [],
    }));
  }

  /** User and accepted audiences; undefined = valid for none of the requested audiences. */
  private acceptedBy(found: TokenIdentity, asking: readonly string[]): TokenReviewResult["owner"] {
    const audiences = found.audiences ?? asking.filter((each) => this.audiences.includes(each));
    if (audiences.length === 0) return undefined;
    return { user: withAuthenticatedGroup(found.user), audiences };
  }
}
