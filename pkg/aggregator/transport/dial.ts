import { createHash } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { dialFailure, dialTimedOut, trustServers } from "#base";
import { connectTls } from "#pki";
import type { DialTarget } from "#request";
import { BackendError } from "../contract.ts";

/** TLS settings of the connections to one backend. */
interface TlsSettings {
  /** Expected subject alternative name, such as `metrics-server.kube-system.svc`. */
  readonly serverName: string;
  /** CA bundle, PEM; "" = the system's trust store. */
  readonly authorities: string;
  /** Skips the verification of the serving certificate. */
  readonly isInsecure: boolean;
  /** Client certificate of this server; undefined = none. */
  readonly client: ClientCertificate | undefined;
}

/** `key` is a hash of the settings, for connection pools. */
export type BackendTls = TlsSettings & { readonly key: string };

export function backendTls(settings: TlsSettings): BackendTls {
  const { serverName, authorities, isInsecure, client } = settings;
  const parts = [serverName, authorities, isInsecure, client?.certificate, client?.privateKey];
  const key = createHash("sha256").update(JSON.stringify(parts)).digest("base64");
  return { ...settings, key };
}

/** Certificate chain and private key, PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Timeout of the TCP connection and the TLS handshake, in ms. */
export const dialMs = 10_000;

/** Node's TLS options; `protocols` are offered by ALPN in order of preference. */
export function tlsOptions(tls: BackendTls, protocols: readonly string[]) {
  const { serverName, authorities, isInsecure, client } = tls;
  return {
    servername: serverName,
    ALPNProtocols: [...protocols],
    ...(isInsecure ? {} : trustServers(authorities)),
    rejectUnauthorized: !isInsecure,
    ...(client === undefined ? {} : { cert: client.certificate, key: client.privateKey }),
  };
}

/**
 * Opens a TLS connection.
 * @throws BackendError, or the signal's reason
 */
export function dial(
  address: DialTarget,
  tls: BackendTls,
  { protocols, signal }: { readonly protocols: readonly string[]; readonly signal: AbortSignal },
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let isConnected = false;
    const socket = connectTls({ ...address, ...tlsOptions(tls, protocols) });
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
