import { StatusError } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import { badCredentials } from "./fault.ts";
import { anonymousUser, asAuthenticated } from "./known-user.ts";

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

  async authenticate(credentials: Credentials): Promise<User> {
    let isRefused = false;
    for (const authenticator of this.options.authenticators) {
      try {
        const user = await authenticator.authenticate(credentials);
        if (user !== undefined) return asAuthenticated(user);
      } catch (error) {
        if (!(error instanceof StatusError && error.code === 401)) throw error;
        isRefused = true;
      }
    }
    if (isRefused || !this.options.anonymous(credentials.path)) throw badCredentials();
    return anonymousUser;
  }
}
