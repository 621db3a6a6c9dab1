import { type Awaitable, firstAnswer, rescued, whenThere } from "#base";
import { StatusError } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import { badCredentials } from "./unauthorized.ts";
import { anonymousUser, asAuthenticated } from "./authenticated-group.ts";

export interface UnionOptions {
  readonly authenticators: readonly Authenticator[];
  /** Whether requests without any credential become `system:anonymous` on this path. */
  readonly anonymous: (path: string) => boolean;
}

/**
 * The first authenticator that knows the user decides. A request with a credential that nobody
 * takes is refused; it never becomes anonymous.
 */
export class Union implements Authenticator {
  constructor(private readonly options: UnionOptions) {}

  authenticate(credentials: Credentials): Awaitable<User> {
    const { authenticators, anonymous } = this.options;
    let isRefused = false;
    const refuse = (error: unknown) => {
      if (!(error instanceof StatusError && error.code === 401)) throw error;
      isRefused = true;
      return undefined;
    };
    const ask = (authenticator: Authenticator) =>
      rescued(() => authenticator.authenticate(credentials), refuse);
    return whenThere(firstAnswer(authenticators, ask), (user) => {
      if (user !== undefined) return asAuthenticated(user);
      if (isRefused || !anonymous(credentials.path)) throw badCredentials();
      return anonymousUser;
    });
  }
}
