import { constants } from "node:crypto";
import { trustAuthorities } from "#base";

/** Certificates and keys in PEM format. */
export interface TlsOptions {
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
  /**
   * CA bundle for client certificates, which are requested and optional: the authenticator ignores a
   * certificate that does not verify.
   */
  readonly clientCa?: string | Uint8Array;
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** Whether HTTP/2 is served beside HTTP/1.1; default true. */
  readonly http2?: boolean;
}

/** Selects HTTP/1.1 in ALPN; undefined fails the handshake of a client that offers only HTTP/2. */
export function selectHttp1({ protocols }: { readonly protocols: string[] }): string | undefined {
  return protocols.find((protocol) => protocol === "http/1.1");
}

/**
 * TLS options. Session tickets are disabled: a resumed session lacks the client's intermediate
 * certificates, and was verified by CAs that may have been replaced.
 */
export function secureContext({ cert, key, clientCa, minVersion = "TLSv1.2" }: TlsOptions) {
  const ca = clientCa === undefined ? {} : { ca: trustAuthorities(pem(clientCa)) };
  return {
    cert: pem(cert),
    key: pem(key),
    ...ca,
    minVersion,
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** PEM text of a certificate or key. */
export function pem(text: string | Uint8Array): string {
  return typeof text === "string" ? text : Buffer.from(text).toString("utf8");
}
