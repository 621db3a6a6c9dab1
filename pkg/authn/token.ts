import type { Domain } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import { bearerToken } from "./bearer.ts";
import { badCredentials } from "./fault.ts";
import { asAuthenticated } from "./known-user.ts";
import { webSocketToken } from "./websocket-bearer.ts";

/** Whose a token is. */
export interface TokenOwner {
  readonly user: User;
  /** Those asked for that the token is meant for; absent = whatever the API server stands for. */
  readonly audiences?: readonly string[];
}

/** A token is of this kind, and no good; the message may be told to reviewers. */
export class TokenFault extends Error {
  override readonly name = "TokenFault";
}

export interface TokenAuthenticator {
  /**
   * Undefined = not a token of this kind.
   * @param audiences who is about to take the token
   * @throws TokenFault
   */
  owner(token: string, audiences: readonly string[]): Promise<TokenOwner | undefined>;
}

export interface TokenReviewed {
  readonly owner: { readonly user: User; readonly audiences: readonly string[] } | undefined;
  /** What authenticators found wrong with it. */
  readonly faults: readonly string[];
}

/** All kinds of bearer tokens, tried in order. */
export class Tokens implements Authenticator {
  /** `audiences` are those that the API server stands for. */
  constructor(
    private readonly kinds: readonly TokenAuthenticator[],
    private readonly audiences: readonly string[],
    private readonly domain: Domain,
  ) {}

  async authenticate(credentials: Credentials): Promise<User | undefined> {
    const token = bearerToken(credentials) ?? webSocketToken(credentials, this.domain);
    if (token === undefined) return undefined;
    const { owner } = await this.review(token, []);
    if (owner === undefined) throw badCredentials();
    return owner.user;
  }

  /** Judges a token for others; no audiences = those of the API server. */
  async review(token: string, wanted: readonly string[]): Promise<TokenReviewed> {
    const audiences = wanted.length > 0 ? wanted : this.audiences;
    const faults: string[] = [];
    for (const kind of this.kinds) {
      const found = await this.ask(kind, token, { audiences, faults });
      if (found === undefined) continue;
      const common = found.audiences ?? audiences.filter((each) => this.audiences.includes(each));
      if (common.length === 0) continue;
      return { owner: { user: asAuthenticated(found.user), audiences: common }, faults: [] };
    }
    return { owner: undefined, faults };
  }

  private async ask(
    kind: TokenAuthenticator,
    token: string,
    { audiences, faults }: { readonly audiences: readonly string[]; readonly faults: string[] },
  ): Promise<TokenOwner | undefined> {
    try {
      return await kind.owner(token, audiences);
    } catch (error) {
      if (!(error instanceof TokenFault)) throw error;
      faults.push(error.message);
      return undefined;
    }
  }
}
