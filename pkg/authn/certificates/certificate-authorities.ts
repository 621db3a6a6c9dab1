import { X509Certificate } from "node:crypto";
import type { Clock } from "#base";
import type { PeerCertificate } from "#request";

/** Validity period in milliseconds since 1970. */
interface Period {
  readonly from: number;
  readonly until: number;
}

const always: Period = { from: -Infinity, until: Infinity };
const never: Period = { from: Infinity, until: -Infinity };
const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a PEM text. @throws Error if there is none or one is invalid */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  const found = pem.match(block) ?? [];
  if (found.length === 0) throw new Error("no PEM block with a certificate");
  return found.map((text) => new X509Certificate(text));
}

/**
 * Set of trusted CAs of client certificates. The TLS layer has verified the chain to any CA of the server by
 * RFC 5280; this class checks whether it leads to one of these CAs. Chains are walked once per connection and
 * CA set, since every link costs a signature verification.
 */
export class CertificateAuthorities {
  private anchors: readonly X509Certificate[] = [];
  /** Validity of each chain; `never` for one that leads to no CA. */
  private validity = new WeakMap<PeerCertificate, Period>();

  constructor(private readonly clock: Clock) {}

  /**
   * Replaces the CAs, also for open connections.
   * @throws Error for a text without certificates, or with an invalid one
   */
  replace(...pems: readonly string[]): void {
    this.anchors = pems.flatMap(parseCertificates);
    this.validity = new WeakMap();
  }

  /** Whether the certificate chains to one of the CAs, and is valid now. */
  trusts(peer: PeerCertificate): boolean {
    let period = this.validity.get(peer);
    if (period === undefined) {
      period = peer.isVerified
        ? this.chainValidity(peer.chain)
        : this.anchorValidity(peer.chain[0]);
      this.validity.set(peer, period);
    }
    const now = this.clock.now();
    return period.from <= now && now < period.until;
  }

  /**
   * Validity of a client certificate that is itself a trust anchor, which OpenSSL does not verify in servers.
   * The handshake has proved possession of its key.
   */
  private anchorValidity(leaf: X509Certificate | undefined): Period {
    if (leaf === undefined || !allowsClients(leaf) || !this.isAnchor(leaf)) return never;
    return overlap(always, leaf);
  }

  private isAnchor({ fingerprint256 }: X509Certificate): boolean {
    return this.anchors.some((anchor) => anchor.fingerprint256 === fingerprint256);
  }

  /** Validity of the chain from the client certificate to a trust anchor. */
  private chainValidity([leaf, ...more]: readonly X509Certificate[]): Period {
    let current = leaf;
    const unused = new Set(more);
    let period = always;
    while (current !== undefined) {
      period = overlap(period, current);
      if (this.isAnchor(current)) return period;
      const anchor = issuerAmong(this.anchors.filter(maySign), current);
      if (anchor !== undefined) return overlap(period, anchor);
      current = issuerAmong([...unused].filter(isAuthority), current);
      if (current !== undefined) unused.delete(current);
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

const clientAuth = "1.3.6.1.5.5.7.3.2";
const anyUsage = "2.5.29.37.0";

/** Whether the certificate has no extended key usage, or one that includes client authentication. */
function allowsClients({ keyUsage }: X509Certificate): boolean {
  return !keyUsage || keyUsage.includes(clientAuth) || keyUsage.includes(anyUsage);
}

function isAuthority({ ca }: X509Certificate): boolean {
  return ca;
}

/** Whether an anchor may sign certificates: by basic constraints, or X.509 version 1, as in Go. */
function maySign(anchor: X509Certificate): boolean {
  return anchor.ca || isVersion1(anchor);
}

/** Whether a certificate is of version 1, in which the version field is absent (RFC 5280, 4.1). */
function isVersion1({ raw }: X509Certificate): boolean {
  const toBeSigned = contentOf(raw, 0);
  return raw[contentOf(raw, toBeSigned)] !== versionTag;
}

/** `[0] EXPLICIT` in DER. */
const versionTag = 0xa0;

/** Offset of the content of the DER element at `offset`. */
function contentOf(der: Uint8Array, offset: number): number {
  const length = der[offset + 1] ?? 0;
  return offset + 2 + (length < 0x80 ? 0 : length & 0x7f);
}

/** The candidate that signed the certificate; undefined = none. */
function issuerAmong(
  candidates: Iterable<X509Certificate>,
  certificate: X509Certificate,
): X509Certificate | undefined {
  for (const candidate of candidates) {
    if (!certificate.checkIssued(candidate)) continue;
    if (certificate.verify(candidate.publicKey)) return candidate;
  }
  return undefined;
}
