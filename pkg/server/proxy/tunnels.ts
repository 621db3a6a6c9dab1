import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { dialFailure, dialTimedOut, hostAndPort, trustServers } from "#base";
import type { Destination } from "#registry";
import { pem } from "../transport/tls.ts";

/** TLS options of connections to kubelets, in PEM format. */
export interface KubeletTls {
  /** CA bundle for the kubelets' certificates; absent = they are not verified. */
  readonly ca?: string | Uint8Array;
  /** Client certificate; absent = none. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
}

/** Timeout for the connection including its TLS handshake, in milliseconds. */
const dialTimeout = 30_000;

export interface TunnelRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: Readable | undefined;
  readonly signal: AbortSignal;
}

/** Response of the backend. */
export type TunnelResponse =
  | { readonly kind: "response"; readonly message: IncomingMessage }
  /** The backend has switched protocols. */
  | {
      readonly kind: "upgraded";
      readonly message: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Uint8Array;
    };

/** The backend cannot be reached; the message is that of Go. */
export class DialFault extends Error {
  override readonly name = "DialFault";
}

/** Sends requests to kubelets, pods and services. */
export class Tunnels {
  private readonly agents: Readonly<Record<Destination["peer"], HttpsAgent>>;

  constructor({ ca, cert, key }: KubeletTls) {
    const client = cert && key ? { cert: pem(cert), key: pem(key) } : {};
    const unverified = { rejectUnauthorized: false };
    const verified = ca === undefined ? unverified : trustServers(pem(ca));
    this.agents = {
      kubelet: new HttpsAgent({ ...client, ...verified }),
      "kubelet, unchecked": new HttpsAgent({ ...client, ...unverified }),
      backend: new HttpsAgent(unverified),
    };
  }

  /** @throws DialFault, or the signal's reason */
  open(to: Destination, request: TunnelRequest): Promise<TunnelResponse> {
    return openTunnel(() => this.start(to, request), endpointOf(to), request);
  }

  private start(to: Destination, { method, headers }: TunnelRequest) {
    const path = `${to.path || "/"}${to.query === "" ? "" : `?${to.query}`}`;
    const port = to.port || (to.scheme === "https" ? 443 : 80);
    const options = { host: to.host, port, path, method, headers, ...resolvedAddresses(to) };
    if (to.scheme === "http") return httpRequest(options);
    const agent: Agent = this.agents[to.peer];
    return httpsRequest({ ...options, agent });
  }
}

/** The server that a request is sent to. */
export interface TunnelEndpoint {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: string;
}

/**
 * Starts a request, sends its body, and returns the response or the upgraded connection.
 * @throws DialFault, or the signal's reason
 */
export function openTunnel(
  start: () => ClientRequest,
  endpoint: TunnelEndpoint,
  { body, signal }: Pick<TunnelRequest, "body" | "signal">,
): Promise<TunnelResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const outgoing = start();
    const timer = setTimeout(
      () => outgoing.destroy(new DialFault(dialTimedOut(endpoint))),
      dialTimeout,
    );
    const abort = () => outgoing.destroy();
    signal.addEventListener("abort", abort, { once: true });
    outgoing.once("close", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    });
    outgoing.once("socket", (socket) => {
      if (outgoing.reusedSocket) return clearTimeout(timer);
      const connected = endpoint.scheme === "https" ? "secureConnect" : "connect";
      socket.once(connected, () => clearTimeout(timer));
    });
    outgoing.once("response", (message) => resolve({ kind: "response", message }));
    outgoing.once("upgrade", (message, socket, head) => {
      signal.removeEventListener("abort", abort);
      resolve({ kind: "upgraded", message, socket, head });
    });
    outgoing.once("error", (error) =>
      reject(signal.aborted ? signal.reason : dialFaultOf(endpoint, error)),
    );
    if (body === undefined) outgoing.end();
    else body.pipe(outgoing);
  });
}

/** A lookup of the addresses that were checked for the host; the certificate must match the name. */
function resolvedAddresses({ addresses }: Destination): { lookup?: LookupFunction } {
  if (addresses === undefined) return {};
  const resolved = addresses.map((address) => ({ address, family: isIP(address) }));
  return {
    lookup: (_host, { all }, callback) => {
      if (all === true) callback(null, resolved);
      else callback(null, resolved[0]!.address, resolved[0]!.family);
    },
  };
}

function endpointOf({ host, port, scheme }: Destination): TunnelEndpoint {
  return { scheme, host, port: port || (scheme === "https" ? "443" : "80") };
}

export function urlOf(to: Destination): string {
  return `${to.scheme}://${hostAndPort(endpointOf(to))}${to.path}${to.query === "" ? "" : `?${to.query}`}`;
}

function dialFaultOf(endpoint: TunnelEndpoint, error: NodeJS.ErrnoException): DialFault {
  return error instanceof DialFault ? error : new DialFault(dialFailure(endpoint, error));
}
