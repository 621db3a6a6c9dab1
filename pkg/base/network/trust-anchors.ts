/**
 * TLS options of certificate pools. In Kubernetes, as in Go, every certificate of a pool is a trust
 * anchor; OpenSSL by default trusts only self-signed ones. All CA options of TLS clients and servers
 * come from here.
 */
import { X509Certificate } from "node:crypto";

/** TLS options of a client that trusts the servers of a pool (PEM). */
export interface ServerTrust {
  readonly ca?: string;
  readonly allowPartialTrustChain?: boolean;
}

/**
 * Options of a TLS client: intermediate and leaf certificates in `pem` are trust anchors as well.
 * Without `pem`, the system's trust store is used.
 */
export function trustServers(pem: string | undefined): ServerTrust {
  return pem === undefined || pem === "" ? {} : { ca: pem, allowPartialTrustChain: true };
}

/**
 * The pool `pem` with OpenSSL's trust settings in each certificate, which make every authority of it
 * a trust anchor. For Node's TLS servers and gRPC clients, which drop `allowPartialTrustChain`.
 */
export function trustAuthorities(pem: string): string {
  return pem.replace(certificateBlock, trusted);
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;
/** DER of OpenSSL's CertAux { trust: [anyExtendedKeyUsage] }. */
const trustedForAll = Buffer.from("300830060604551d2500", "hex");

function trusted(block: string): string {
  let der: Buffer;
  try {
    der = new X509Certificate(block).raw;
  } catch {
    // An unparsable certificate is kept, for TLS to report it.
    return block;
  }
  const lines =
    Buffer.concat([der, trustedForAll])
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  const label = "TRUSTED CERTIFICATE";
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join("\n");
}
