import { type Authenticator, type Credentials, unescapeKey, type User } from "#request";
import type { CertificateAuthorities } from "./certificate-authorities.ts";
import { subjectOf } from "./client-certificates.ts";
import { unauthorized } from "../unauthorized.ts";

/** Names of the headers in which a front proxy sends the user. */
export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

export interface RequestHeaderOptions {
  readonly authorities: CertificateAuthorities;
  /** Allowed common names of the proxy's certificate; empty = all. */
  readonly allowedNames: readonly string[];
  readonly headers: RequestHeaderNames;
}

/**
 * Request header authenticator (front proxy). The headers are trusted only with a client certificate of the
 * request header CA, and ignored otherwise.
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
   * Returns undefined without a client certificate, or without a user name in the headers.
   * @throws StatusError 401 for a certificate that is not the front proxy's; other authenticators are tried
   */
  authenticate(credentials: Credentials): User | undefined {
    const { certificate } = credentials;
    const leaf = certificate?.chain[0];
    if (certificate === undefined || leaf === undefined) return undefined;
    const { authorities, allowedNames } = this.options;
    if (!authorities.trusts(certificate)) throw unauthorized();
    const isAllowed =
      allowedNames.length === 0 || allowedNames.includes(subjectOf(leaf).commonName);
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

/** Non-empty values of the headers, in the order of names. */
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
