import { createHash, type X509Certificate } from "node:crypto";
import { memoize } from "#base";
import { type Domain, resolve } from "#meta";
import type { Authenticator, Credentials, User } from "#request";
import type { CertificateAuthorities } from "./certificate-authorities.ts";
import { unauthorized } from "../unauthorized.ts";

/** Object identifier of the subject attribute for the user's uid. */
const uidAttribute = "1.3.6.1.4.1.57683.2";

/** Subject of a client certificate. */
export interface Subject {
  /** Common name, the last one of several; "" = none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly uids: readonly string[];
  /** SHA-256 of the certificate in hexadecimal. */
  readonly fingerprint: string;
}

/** Parses the subject of a certificate; memoized. */
export const subjectOf: (certificate: X509Certificate) => Subject = memoize((certificate) => {
  const { subject, raw } = certificate.toLegacyObject();
  const names = (subject ?? {}) as unknown as Readonly<Record<string, string | string[]>>;
  const all = (key: string): readonly string[] => [names[key] ?? []].flat();
  return {
    commonName: all("CN").at(-1) ?? "",
    organizations: all("O"),
    uids: all(uidAttribute),
    fingerprint: createHash("sha256").update(raw).digest("hex"),
  };
});

export interface ClientCertificateOptions {
  readonly authorities: CertificateAuthorities;
  readonly domain: Domain;
  /** Whether a subject attribute is the user's uid. */
  readonly readsUid: boolean;
}

/**
 * x509 authenticator: the common name is the user name, organizations are groups. A certificate of an unknown
 * CA is an invalid credential, and never becomes anonymous.
 */
export class ClientCertificateAuthenticator implements Authenticator {
  constructor(private readonly options: ClientCertificateOptions) {}

  authenticate({ certificate }: Credentials): User | undefined {
    const leaf = certificate?.chain[0];
    if (certificate === undefined || leaf === undefined) return undefined;
    if (!this.options.authorities.trusts(certificate)) throw unauthorized();
    const { commonName, organizations, uids, fingerprint } = subjectOf(leaf);
    if (commonName === "") return undefined;
    const [uid = "", ...others] = this.options.readsUid ? uids : [];
    if (others.length > 0 || (this.options.readsUid && uids[0] === "")) throw unauthorized();
    const credential = resolve("authentication.{label}/credential-id", this.options.domain);
    return {
      name: commonName,
      uid,
      groups: organizations,
      extra: new Map([[credential, [`X509SHA256=${fingerprint}`]]]),
    };
  }
}
