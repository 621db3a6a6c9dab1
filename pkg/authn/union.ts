import type { Authenticator, Credentials, User } from "#request";
import { bearerToken } from "./bearer.ts";
import { badCredentials } from "./fault.ts";

/**
 * Client certificates whose chain the TLS layer verified: the common name is the user,
 * organizations are groups.
 */
export const clientCertificate: Authenticator = {
  async authenticate({ certificate }) {
    if (certificate === undefined || certificate.commonName === "") return undefined;
    return {
      name: certificate.commonName,
      uid: "",
      groups: [...certificate.organizations, "system:authenticated"],
      extra: new Map(),
    };
  },
};

export interface UnionOptions {
  readonly authenticators: readonly Authenticator[];
  /** Requests without any credential become `system:anonymous` (`--anonymous-auth`). */
  readonly anonymous: boolean;
}

/**
 * The first authenticator with an opinion decides. A request that carries a bearer token which
 * nobody knows is refused; it never becomes anonymous.
 */
export class Union implements Authenticator {
  constructor(private readonly options: UnionOptions) {}

  async authenticate(credentials: Credentials): Promise<User> {
    for (const authenticator of this.options.authenticators) {
      const user = await authenticator.authenticate(credentials);
      if (user !== undefined) return user;
    }
    if (bearerToken(credentials) !== undefined || !this.options.anonymous) throw badCredentials();
    return {
      name: "system:anonymous",
      uid: "",
      groups: ["system:unauthenticated"],
      extra: new Map(),
    };
  }
}
