import { type Awaitable, firstDefined, recoverAwaitable, chainAwaitable } from "#base";
import { StatusError } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import { unauthorized } from "./unauthorized.ts";
import { anonymousUser, withAuthenticatedGroup } from "./authenticated-group.ts";

export interface UnionAuthenticatorOptions {
  readonly authenticators: readonly Authenticator[];
  /** Whether a request without credentials for this path is `system:anonymous`, rather than rejected. */
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
    let isRejected = false;
    const ignoreRejection = (error: unknown) => {
      if (!(error instanceof StatusError && error.code === 401)) throw error;
      isRejected = true;
      return undefined;
    };
    const tryOne = (authenticator: Authenticator) =>
      recoverAwaitable(() => authenticator.authenticate(credentials), ignoreRejection);
    return chainAwaitable(firstDefined(authenticators, tryOne), (user) => {
      if (user !== undefined) return withAuthenticatedGroup(user);
      if (isRejected || !anonymous(credentials.path)) throw unauthorized();
      return anonymousUser;
    });
  }
}
