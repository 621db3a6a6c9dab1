import { X509Certificate } from "node:crypto";
import type { Clock } from "#base";
import {
  type Certificate,
  CertificateFault,
  DerFault,
  parseCertificate,
  verifyCertificate,
} from "#pki";
import type { PeerCertificate } from "#request";

/** Validity period in milliseconds since 1970. */
interface Period {
  readonly from: number;
  readonly until: number;
}

const never: Period = { from: Infinity, until: -Infinity };
const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a PEM text. @throws Error if there is none or one is invalid */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  const found = pem.match(block) ?? [];
  if (found.length === 0) throw new Error("no PEM block with a certificate");
  return found.map((text) => new X509Certificate(text));
}

/**
 * Set of trusted CAs of client certificates, which verifies them by Go's rules: OpenSSL's verdict on the
 * connection is not used, since it takes a certificate for self-signed if its subject is that of its CA. The
 * handshake has proved possession of the key. Chains are built once per connection and CA set, since every
 * link costs a signature verification.
 */
export class CertificateAuthorities {
  private anchors: readonly Certificate[] = [];
  /** Validity of each chain; `never` for one that leads to no CA. */
  private validity = new WeakMap<PeerCertificate, Period>();

  constructor(private readonly clock: Clock) {}

  /**
   * Replaces the CAs, also for open connections.
   * @throws Error for a text without certificates, or with an invalid one
   */
  replace(...pems: readonly string[]): void {
    this.anchors = pems.flatMap(parseCertificates).map(parseCertificate);
    this.validity = new WeakMap();
  }

  /** Whether the certificate chains to one of the CAs, and is valid now. */
  trusts(peer: PeerCertificate): boolean {
    const now = this.clock.now();
    let period = this.validity.get(peer);
    if (period === undefined) {
      period = this.validityOf(peer, now);
      this.validity.set(peer, period);
    }
    return period.from <= now && now < period.until;
  }

  /**
   * Validity of the client certificate with its chains. A certificate that is not valid now is verified at
   * the nearest time at which it is, so that the result holds for the connection.
   */
  private validityOf({ chain }: PeerCertificate, now: number): Period {
    try {
      const [leaf, ...intermediates] = chain.map(parseCertificate);
      if (leaf === undefined) return never;
      const at = Math.min(Math.max(now, leaf.notBefore), leaf.notAfter);
      const options = { roots: this.anchors, intermediates, usage: "client", now: at } as const;
      const periods = verifyCertificate(leaf, options).map(validityOfChain);
      return {
        from: Math.min(...periods.map(({ from }) => from)),
        until: Math.max(...periods.map(({ until }) => until)),
      };
    } catch (error) {
      if (error instanceof CertificateFault || error instanceof DerFault) return never;
      throw error;
    }
  }
}

function validityOfChain(chain: readonly Certificate[]): Period {
  return {
    from: Math.max(...chain.map(({ notBefore }) => notBefore)),
    until: Math.min(...chain.map(({ notAfter }) => notAfter)),
  };
}
