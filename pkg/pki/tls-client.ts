import { type X509Certificate } from "node:crypto";
import { Agent } from "node:https";
import { isIP } from "node:net";
import { connect, type ConnectionOptions, rootCertificates, type TLSSocket } from "node:tls";
import { type Certificate, parsableCertificates, parseCertificate } from "./verify/certificate.ts";
import { CertificateFault, verifyCertificate } from "./verify/verify.ts";

/**
 * TLS connections to other servers. Their certificates are verified by Go's rules, which differ from
 * OpenSSL's: see verify.ts. Clients connect with `connectTls` or a `TlsAgent` only.
 */

/** `ca` of Node's options, as PEM; the pools of a few bundles are kept. */
const pools = new Map<string, readonly Certificate[]>();
const maxPools = 64;

function poolOf(pem: string): readonly Certificate[] {
  let pool = pools.get(pem);
  if (pool === undefined) {
    pool = parsableCertificates(pem);
    const [oldest] = pools.keys();
    if (pools.size >= maxPools && oldest !== undefined) pools.delete(oldest);
    pools.set(pem, pool);
  }
  return pool;
}

/**
 * Opens a TLS connection. `ca` is one PEM text, absent or "" for the system's trust store; `servername` is
 * the name that the certificate must be valid for, by default the host. The connection reports
 * "secureConnect" only for a verified server; otherwise it fails with the error, and nothing that was
 * written to it is sent. It is the place at which Node itself rejects a server.
 */
export function connectTls(options: ConnectionOptions): TLSSocket {
  const { ca, rejectUnauthorized, servername, host = "localhost", ...others } = options;
  const name = servername || host;
  const socket = connect({
    ...others,
    host,
    servername: isIP(name.replace(/^\[(.*)\]$/, "$1")) === 0 ? name : "",
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
  if (rejectUnauthorized === false) return socket;
  const emit = socket.emit.bind(socket) as (event: string, ...values: unknown[]) => boolean;
  // Not a listener: those of an HTTP/2 session would still run on the destroyed connection.
  socket.emit = (event: string, ...values: unknown[]): boolean => {
    if (event !== "secureConnect") return emit(event, ...values);
    const fault = serverFault(socket, pemOf(ca), name);
    if (fault === undefined) return emit(event, ...values);
    socket.destroy(fault);
    return true;
  };
  return socket;
}

/** An HTTPS agent that connects with `connectTls`. */
export class TlsAgent extends Agent {
  constructor(options: ConstructorParameters<typeof Agent>[0] = {}) {
    // A resumed session would not be verified again.
    super({ ...options, maxCachedSessions: 0 });
  }

  override createConnection(options: ConnectionOptions): TLSSocket {
    return connectTls(options);
  }
}

function pemOf(ca: ConnectionOptions["ca"]): string {
  return [ca ?? ""].flat().map(String).join("\n");
}

function serverFault(socket: TLSSocket, pem: string, host: string): Error | undefined {
  try {
    const [leaf, ...intermediates] = sentCertificates(socket).map(parseCertificate);
    if (leaf === undefined) return new Error("tls: received empty certificates message");
    // OpenSSL's verdict includes additional roots of the environment.
    const isKnown = pem === "" && socket.authorized;
    const roots = isKnown ? [leaf] : poolOf(pem || rootCertificates.join("\n"));
    const now = Date.now();
    verifyCertificate(leaf, { roots, intermediates, host, usage: "server", now });
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    const stage = error instanceof CertificateFault ? "verify certificate" : "parse certificate";
    const from = error instanceof CertificateFault ? "" : " from server";
    return new Error(`tls: failed to ${stage}${from}: ${message}`);
  }
}

/** All certificates that the peer sent, its own first. Node returns them only once per connection. */
function sentCertificates(socket: TLSSocket): readonly X509Certificate[] {
  const sent: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined) {
    sent.push(next);
    next = next.issuerCertificate;
  }
  return sent;
}
