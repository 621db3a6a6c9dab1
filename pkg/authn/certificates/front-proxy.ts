import { type Authenticator, type Credentials, unescapeKey, type User } from "#request";
import type { CertificateAuthorities } from "./certificate-authorities.ts";
import { subjectOf } from "./client-certificates.ts";
import { unauthorized } from "../unauthorized.ts";

/** Names of the headers in which a proxy in front of the server says who its client is. */
export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

export interface RequestHeaderOptions {
  readonly authorities: CertificateAuthorities;
  /** Common names that the proxy's certificate may have; empty = any. */
  readonly allowedNames: readonly string[];
  readonly headers: RequestHeaderNames;
}

/**
 * Users whom a proxy in front of the server has authenticated. The headers count only beside a
 * certificate of the proxy's own authorities; from anybody else they are ignored.
 */
export class RequestHeaderAuthenticator implements Authenticator {
  private readonly headers: RequestHeaderNames;

  constructor(private readonly options: RequestHeaderOptions) {
    const lower = (names: readonly string[]) => names.map((name) => name.toLowerCase());
    const { username, uid, group, extraPrefix } = options.headers;
    this.headers = {
      username: lower(username),
      uid: lower(uid),
      group: lower(group),
      extraPrefix: lower(extraPrefix),
    };
  }

  /**
   * Undefined = the client is not the front proxy, or its headers name no user.
   * @throws StatusError 401 for a certificate that is not the proxy's; others may still take it.
   */
  authenticate(credentials: Credentials): User | undefined {
    const { certificate } = credentials;
    const own = certificate?.chain[0];
    if (certificate === undefined || own === undefined) return undefined;
    const { authorities, allowedNames } = this.options;
    if (!authorities.vouchFor(certificate)) throw unauthorized();
    const isAllowed = allowedNames.length === 0 || allowedNames.includes(subjectOf(own).commonName);
    if (!isAllowed) throw unauthorized();
    const [name] = valuesOf(credentials, this.headers.username);
    if (name === undefined) return undefined;
    return {
      name,
      uid: valuesOf(credentials, this.headers.uid)[0] ?? "",
      groups: valuesOf(credentials, this.headers.group),
      extra: extraOf(credentials, this.headers.extraPrefix),
    };
  }
}

/** All values that are not empty, those of the first name first. */
function valuesOf({ headersBelow }: Credentials, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => headersBelow(name).get(name) ?? []).filter(Boolean);
}

function extraOf(
  { headersBelow }: Credentials,
  prefixes: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const prefix of prefixes) {
    for (const [header, values] of headersBelow(prefix)) {
      const key = unescapeKey(header.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), ...values]);
    }
  }
  return extra;
}
