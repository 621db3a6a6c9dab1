import { X509Certificate } from "node:crypto";
import type { Clock } from "#base";
import type { PeerCertificate } from "#request";

/** Both ends of a time, in milliseconds since 1970. */
interface Period {
  readonly from: number;
  readonly until: number;
}

const never: Period = { from: Infinity, until: -Infinity };
const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Every certificate of a PEM text. @throws Error when there is none or one cannot be read. */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  const found = pem.match(block) ?? [];
  if (found.length === 0) throw new Error("no PEM block with a certificate");
  return found.map((text) => new X509Certificate(text));
}

/**
 * Authorities whose word is taken for client certificates. The TLS layer has verified the chain to
 * any authority that the server knows, with all rules of RFC 5280; what is found out here is
 * whether it leads to one of these. Paths are walked once per connection and authority set, since
 * every link costs the check of a signature.
 */
export class CertificateAuthorities {
  private anchors: readonly X509Certificate[] = [];
  private known = new WeakMap<PeerCertificate, Period>();

  constructor(private readonly clock: Clock) {}

  /**
   * From now on these count, for open connections too.
   * @throws Error for a text without certificates, or with one that cannot be read
   */
  replace(...pems: readonly string[]): void {
    this.anchors = pems.flatMap(parseCertificates);
    this.known = new WeakMap();
  }

  vouchFor(peer: PeerCertificate): boolean {
    if (!peer.isVerified) return false;
    let period = this.known.get(peer);
    if (period === undefined) {
      period = this.path(peer.chain);
      this.known.set(peer, period);
    }
    const now = this.clock.now();
    return period.from <= now && now < period.until;
  }

  /** When the way from the client's certificate to one of the anchors is good. */
  private path([own, ...more]: readonly X509Certificate[]): Period {
    let current = own;
    const left = new Set(more);
    let period: Period = { from: -Infinity, until: Infinity };
    while (current !== undefined) {
      const { fingerprint256 } = current;
      period = overlap(period, current);
      if (this.anchors.some((anchor) => anchor.fingerprint256 === fingerprint256)) return period;
      const anchor = issuerAmong(this.anchors, current);
      if (anchor !== undefined) return overlap(period, anchor);
      current = issuerAmong(left, current);
      if (current !== undefined) left.delete(current);
    }
    return never;
  }
}

function overlap({ from, until }: Period, certificate: X509Certificate): Period {
  return {
    from: Math.max(from, Date.parse(certificate.validFrom)),
    until: Math.min(until, Date.parse(certificate.validTo)),
  };
}

/** One of `candidates` that is an authority and did sign the certificate. */
function issuerAmong(
  candidates: Iterable<X509Certificate>,
  certificate: X509Certificate,
): X509Certificate | undefined {
  for (const candidate of candidates) {
    if (!candidate.ca || !certificate.checkIssued(candidate)) continue;
    if (certificate.verify(candidate.publicKey)) return candidate;
  }
  return undefined;
}
