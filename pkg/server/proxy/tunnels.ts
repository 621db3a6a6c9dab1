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

/** PEM texts: who this server is to kubelets, and whom it takes for one. */
export interface KubeletTls {
  /** Authorities of the kubelets' certificates; absent = they are not checked. */
  readonly ca?: string | Uint8Array;
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
}

/** Time to connect, in milliseconds. */
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
  /** It speaks another protocol from here on. */
  | {
      readonly kind: "upgraded";
      readonly message: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Uint8Array;
    };

/** The other end cannot be reached; the message is worded as Go words it. */
export class DialFault extends Error {
  override readonly name = "DialFault";
}

/** Requests of this server to kubelets and to what runs in the cluster. */
export class Tunnels {
  private readonly agents: Readonly<Record<Destination["peer"], HttpsAgent>>;

  constructor({ ca, cert, key }: KubeletTls) {
    const own = cert && key ? { cert: pem(cert), key: pem(key) } : {};
    const unchecked = { rejectUnauthorized: false };
    const checked = ca === undefined ? unchecked : trustServers(pem(ca));
    this.agents = {
      kubelet: new HttpsAgent({ ...own, ...checked }),
      "kubelet, unchecked": new HttpsAgent({ ...own, ...unchecked }),
      backend: new HttpsAgent(unchecked),
    };
  }

  /** Throws DialFault, or the signal's reason. */
  open(to: Destination, request: TunnelRequest): Promise<TunnelResponse> {
    return openTunnel(() => this.start(to, request), placeOf(to), request);
  }

  private start(to: Destination, { method, headers }: TunnelRequest) {
    const path = `${to.path || "/"}${to.query === "" ? "" : `?${to.query}`}`;
    const port = to.port || (to.scheme === "https" ? 443 : 80);
    const common = { host: to.host, port, path, method, headers, ...pinned(to) };
    if (to.scheme === "http") return httpRequest(common);
    const agent: Agent = this.agents[to.peer];
    return httpsRequest({ ...common, agent });
  }
}

/** Where a request of `openTunnel` goes. */
export interface TunnelPlace {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: string;
}

/**
 * Starts a request, sends its body, and answers the head of the response, which may switch to
 * another protocol. Throws DialFault, or the signal's reason.
 */
export function openTunnel(
  start: () => ClientRequest,
  place: TunnelPlace,
  { body, signal }: Pick<TunnelRequest, "body" | "signal">,
): Promise<TunnelResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const outgoing = start();
    const timer = setTimeout(
      () => outgoing.destroy(new DialFault(dialTimedOut(place))),
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
      const secured = place.scheme === "https" ? "secureConnect" : "connect";
      socket.once(secured, () => clearTimeout(timer));
    });
    outgoing.once("response", (message) => resolve({ kind: "response", message }));
    outgoing.once("upgrade", (message, socket, head) => {
      signal.removeEventListener("abort", abort);
      resolve({ kind: "upgraded", message, socket, head });
    });
    outgoing.once("error", (error) => reject(signal.aborted ? signal.reason : fault(place, error)));
    if (body === undefined) outgoing.end();
    else body.pipe(outgoing);
  });
}

/** Connects to the addresses that were checked; the name is still what the certificate must bear. */
function pinned({ addresses }: Destination): { lookup?: LookupFunction } {
  if (addresses === undefined) return {};
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return {
    lookup: (_host, { all: wantsAll }, callback) => {
      if (wantsAll === true) callback(null, all);
      else callback(null, all[0]!.address, all[0]!.family);
    },
  };
}

function pem(text: string | Uint8Array): string {
  return typeof text === "string" ? text : Buffer.from(text).toString("utf8");
}

function placeOf({ host, port, scheme }: Destination): TunnelPlace {
  return { scheme, host, port: port || (scheme === "https" ? "443" : "80") };
}

export function urlOf(to: Destination): string {
  return `${to.scheme}://${hostAndPort(placeOf(to))}${to.path}${to.query === "" ? "" : `?${to.query}`}`;
}

function fault(place: TunnelPlace, error: NodeJS.ErrnoException): DialFault {
  return error instanceof DialFault ? error : new DialFault(dialFailure(place, error));
}
