import { createHash } from "node:crypto";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { dialFailure, dialTimedOut, trustServers } from "#base";
import type { ServiceAddress } from "#request";
import { BackendError } from "../contract.ts";

/** TLS of the connections to one backend. */
interface TlsSettings {
  /** Name that the certificate must bear: `metrics-server.kube-system.svc`. */
  readonly serverName: string;
  /** PEM; "" = the authorities that the system trusts. */
  readonly authorities: string;
  /** Takes any certificate. */
  readonly isInsecure: boolean;
  /** Client certificate and key of this server, PEM; absent = it has none. */
  readonly client: ClientCertificate | undefined;
}

/** With a key that is the same for the same settings. */
export type BackendTls = TlsSettings & { readonly key: string };

export function backendTls(settings: TlsSettings): BackendTls {
  const { serverName, authorities, isInsecure, client } = settings;
  const parts = [serverName, authorities, isInsecure, client?.certificate, client?.privateKey];
  const key = createHash("sha256").update(JSON.stringify(parts)).digest("base64");
  return { ...settings, key };
}

/** PEM texts. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Time for a TCP connection and its TLS handshake. */
export const dialMs = 10_000;

/** TLS options of Node for connections with `protocols`, the preferred first. */
export function tlsOptions(tls: BackendTls, protocols: readonly string[]) {
  const { serverName, authorities, isInsecure, client } = tls;
  return {
    servername: serverName,
    ALPNProtocols: [...protocols],
    ...(isInsecure ? {} : trustServers(authorities)),
    rejectUnauthorized: !isInsecure,
    checkServerIdentity: (_host: string, certificate: PeerCertificate) =>
      checkName(serverName, certificate),
    ...(client === undefined ? {} : { cert: client.certificate, key: client.privateKey }),
  };
}

/** As in Go: the names of a certificate are its subject alternative names. */
function checkName(name: string, certificate: PeerCertificate): Error | undefined {
  const { subjectaltname } = certificate;
  if (subjectaltname === undefined) {
    return new Error(
      "tls: failed to verify certificate: x509: certificate relies on legacy Common Name field, " +
        "use SANs instead",
    );
  }
  if (checkServerIdentity(name, certificate) === undefined) return undefined;
  const names = subjectaltname.split(", ").map((each) => each.replace(/^(?:DNS|IP Address):/, ""));
  const valid = names.join(", ");
  return new Error(
    `tls: failed to verify certificate: x509: certificate is valid for ${valid}, not ${name}`,
  );
}

/**
 * Opens a TLS connection.
 * @throws BackendError, or the signal's reason
 */
export function dial(
  address: ServiceAddress,
  tls: BackendTls,
  { protocols, signal }: { readonly protocols: readonly string[]; readonly signal: AbortSignal },
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let isConnected = false;
    const { host, port } = address;
    const socket = connect({ host, port, ...tlsOptions(tls, protocols) });
    const fail = (message: string) => {
      settle();
      socket.destroy();
      reject(new BackendError("unreachable", message, true));
    };
    const abort = () => {
      settle();
      socket.destroy();
      reject(signal.reason as Error);
    };
    const timer = setTimeout(
      () => fail(isConnected ? "net/http: TLS handshake timeout" : dialTimedOut(address)),
      dialMs,
    );
    const failed = (error: Error) => fail(dialFailure(address, error));
    const closed = () => fail("EOF");
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      socket.off("close", closed);
      socket.off("error", failed);
      socket.on("error", () => undefined);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.once("connect", () => (isConnected = true));
    socket.once("error", failed);
    socket.once("close", closed);
    socket.once("secureConnect", () => {
      settle();
      resolve(socket);
    });
  });
}
