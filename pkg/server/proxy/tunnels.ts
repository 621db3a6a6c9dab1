import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { dialFailure, dialTimedOut, hostAndPort, trustServers } from "#base";
import { TlsAgent } from "#pki";
import type { Destination } from "#registry";
import type { Dialer, DialTarget } from "#request";
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
  private readonly agents: Readonly<Record<Destination["peer"], TlsAgent>>;

  constructor(
    { ca, cert, key }: KubeletTls,
    private readonly dialer: Dialer,
  ) {
    const client = cert && key ? { cert: pem(cert), key: pem(key) } : {};
    const unverified = { rejectUnauthorized: false };
    const verified = ca === undefined ? unverified : trustServers(pem(ca));
    this.agents = {
      kubelet: new TlsAgent({ ...client, ...verified }),
      "kubelet, unchecked": new TlsAgent({ ...client, ...unverified }),
      backend: new TlsAgent(unverified),
    };
  }

  /** @throws DialFault, SimulatedAddress, or the signal's reason */
  async open(to: Destination, request: TunnelRequest): Promise<TunnelResponse> {
    const { pod, kubeletOf, addresses: resolved } = to;
    const { host, port } = endpointOf(to);
    const address = { host, port: Number(port), pod, kubeletOf, resolved };
    const target = await this.dialer.targetOf(address, request.signal);
    return openTunnel(() => this.start(to, target, request), target, {
      ...request,
      isTls: to.scheme === "https",
    });
  }

  private start(to: Destination, target: DialTarget, { method, headers }: TunnelRequest) {
    const path = `${to.path || "/"}${to.query === "" ? "" : `?${to.query}`}`;
    const options = { ...target, path, method, headers };
    if (to.scheme === "http") return httpRequest(options);
    const agent = this.agents[to.peer];
    // Without it, Node expects the name in the Host header, which is the client's.
    const tls = { protocol: "https:", servername: to.host, agent };
    return httpRequest({ ...options, ...tls });
  }
}

/** The server that a request is sent to. */
interface TunnelEndpoint {
  readonly host: string;
  readonly port: string | number;
}

interface TunnelOptions extends Pick<TunnelRequest, "body" | "signal"> {
  /** Whether the connection is ready after a TLS handshake. */
  readonly isTls: boolean;
}

/**
 * Starts a request, sends its body, and returns the response or the upgraded connection.
 * @throws DialFault, or the signal's reason
 */
export function openTunnel(
  start: () => ClientRequest,
  endpoint: TunnelEndpoint,
  { body, signal, isTls }: TunnelOptions,
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
      const connected = isTls ? "secureConnect" : "connect";
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

function endpointOf({ host, port, scheme }: Destination) {
  return { host, port: port || (scheme === "https" ? "443" : "80") };
}

export function urlOf(to: Destination): string {
  return `${to.scheme}://${hostAndPort(endpointOf(to))}${to.path}${to.query === "" ? "" : `?${to.query}`}`;
}

function dialFaultOf(endpoint: TunnelEndpoint, error: NodeJS.ErrnoException): DialFault {
  return error instanceof DialFault ? error : new DialFault(dialFailure(endpoint, error));
}
