import { type Awaitable, firstDefined, recoverAwaitable, chainAwaitable } from "#base";
import { StatusError } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import { unauthorized } from "./unauthorized.ts";
import { anonymousUser, withAuthenticatedGroup } from "./authenticated-group.ts";

export interface UnionAuthenticatorOptions {
  readonly authenticators: readonly Authenticator[];
  /** Whether requests without credentials are `system:anonymous` on this path. */
  readonly anonymous: (path: string) => boolean;
}

/**
 * Tries authenticators in order. A request whose credential no authenticator accepts is rejected, and never
 * becomes anonymous.
 */
export class UnionAuthenticator implements Authenticator {
  constructor(private readonly options: UnionAuthenticatorOptions) {}

  authenticate(credentials: Credentials): Awaitable<User> {
    const { authenticators, anonymous } = this.options;
    let isRefused = false;
    const refuse = (error: unknown) => {
      if (!(error instanceof StatusError && error.code === 401)) throw error;
      isRefused = true;
      return undefined;
    };
    const ask = (authenticator: Authenticator) =>
      recoverAwaitable(() => authenticator.authenticate(credentials), refuse);
    return chainAwaitable(firstDefined(authenticators, ask), (user) => {
      if (user !== undefined) return withAuthenticatedGroup(user);
      if (isRefused || !anonymous(credentials.path)) throw unauthorized();
      return anonymousUser;
    });
  }
}
