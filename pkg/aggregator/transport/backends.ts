import { setMaxListeners } from "node:events";
import { Readable } from "node:stream";
import { type Clock, hostAndPort, type Random } from "#base";
import {
  resolveService,
  type ServiceAddress,
  type ServiceReader,
  type ServiceRouting,
  UnresolvedService,
  type User,
} from "#request";
import {
  BackendError,
  type ApiService,
  type BackendRequest,
  type BackendResponse,
  type BackendTransport,
} from "../contract.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { BackendTls, ClientCertificate } from "./dial.ts";
import { requestHeaders } from "./headers.ts";
import { RequestLifetime } from "./request-lifetime.ts";
import { type OutgoingRequest, sendUpgrade, type UpgradeResponse } from "./http1-request.ts";

export interface BackendsOptions {
  readonly reader: ServiceReader;
  readonly routing: ServiceRouting;
  readonly random: Random;
  readonly clock: Clock;
  /** Client certificate of this server, asked for with every request; undefined = it has none. */
  readonly client: () => ClientCertificate | undefined;
  /** Aborts to close all connections. */
  readonly signal: AbortSignal;
}

const usualPort = 443;
/** Addresses of a Service are looked up again after so long. */
const resolvedMs = 1_000;
/** Connections of a pool without requests are closed after so long. */
const idleMs = 90_000;

interface Probe {
  readonly address: ServiceAddress;
  readonly path: string;
  readonly timeoutMs: number;
}

/** User of the aggregator's own requests, who may read every discovery document. */
const aggregatorUser: User = {
  name: "system:kube-aggregator",
  uid: "",
  groups: ["system:masters"],
  extra: new Map(),
};

interface Pooled {
  readonly pool: ConnectionPool;
  /** Number of requests under way. */
  load: number;
  timer: NodeJS.Timeout | undefined;
}

interface Resolved {
  readonly addresses: Promise<readonly ServiceAddress[]>;
  readonly until: number;
}

/** Servers behind APIServices, over pooled connections. */
export class Backends implements BackendTransport {
  private readonly pools = new Map<string, Pooled>();
  private readonly resolved = new Map<string, Resolved>();

  constructor(private readonly options: BackendsOptions) {
    // Every connection adds a listener.
    setMaxListeners(0, options.signal);
  }

  /**
   * Tries the addresses of the Service in turn until one takes the request.
   * @throws BackendError, or the reason of the request's signal
   */
  readonly send = (apiService: ApiService, request: BackendRequest): Promise<BackendResponse> =>
    this.attempts(apiService, request, (address, tls, outgoing) =>
      this.pooledSend(address, tls, outgoing),
    );

  /**
   * Sends a request for another protocol (`Upgrade`) on a connection of its own.
   * @throws BackendError, or the reason of the request's signal
   */
  readonly upgrade = (
    apiService: ApiService,
    request: BackendRequest & { readonly protocol: string },
  ): Promise<UpgradeResponse> =>
    this.attempts(apiService, request, (address, tls, outgoing) => {
      const headers = { ...outgoing.headers, connection: "Upgrade", upgrade: request.protocol };
      return sendUpgrade(address, tls, { ...outgoing, headers });
    });

  /** Addresses of the Service, in the order in which they are tried. */
  readonly addressesOf = (apiService: ApiService): Promise<readonly ServiceAddress[]> =>
    this.resolve(apiService);

  /** Asks one address for a document without verifying its certificate; answers the status code. */
  readonly probe = async (apiService: ApiService, asked: Probe): Promise<number> => {
    const { address, path, timeoutMs } = asked;
    const { signal } = this.options;
    const tls = { ...this.tlsOf(apiService), isInsecure: true };
    const request = { method: "GET", path, headers: {}, user: aggregatorUser, signal, timeoutMs };
    const lifetime = new RequestLifetime(request);
    try {
      const { status, body } = await lifetime.attempt((own) => {
        const headers = { ...requestHeaders(request), host: hostAndPort(address) };
        const outgoing = { method: "GET", path, headers, body: undefined, ...own };
        return this.pooledSend(address, tls, outgoing);
      });
      body.destroy();
      return status;
    } finally {
      lifetime.end();
    }
  };

  private async attempts<T>(
    apiService: ApiService,
    request: BackendRequest,
    send: (address: ServiceAddress, tls: BackendTls, outgoing: OutgoingRequest) => Promise<T>,
  ): Promise<T> {
    const tls = this.tlsOf(apiService);
    const headers = requestHeaders(request);
    const lifetime = new RequestLifetime(request);
    try {
      const addresses = await this.resolve(apiService);
      for (const [index, address] of addresses.entries()) {
        try {
          return await lifetime.attempt((own) => {
            const sent = { ...headers, host: hostAndPort(address) };
            const { method, path, body } = request;
            return send(address, tls, { method, path, headers: sent, body, ...own });
          });
        } catch (error) {
          const isLast = index === addresses.length - 1;
          if (isLast || !mayRepeat(error, request)) throw error;
        }
      }
      throw new BackendError("unresolved", "no addresses", true);
    } catch (error) {
      lifetime.end();
      throw error;
    }
  }

  private tlsOf({ spec }: ApiService): BackendTls {
    const { service, caBundle = "", insecureSkipTLSVerify: isInsecure = false } = spec;
    return {
      serverName: `${service?.name ?? ""}.${service?.namespace ?? ""}.svc`,
      authorities: Buffer.from(caBundle, "base64").toString("utf8"),
      isInsecure,
      client: this.options.client(),
    };
  }

  private async resolve({ spec }: ApiService): Promise<readonly ServiceAddress[]> {
    const { reader, routing, random, clock } = this.options;
    const { namespace = "", name = "", port = usualPort } = spec.service ?? {};
    const key = `${namespace}/${name}:${port}`;
    let found = this.resolved.get(key);
    if (found === undefined || found.until < clock.now()) {
      const addresses = resolveService(reader, { namespace, name, port }, { routing, random });
      found = { addresses, until: clock.now() + resolvedMs };
      this.resolved.set(key, found);
      addresses.catch(() => this.resolved.delete(key));
    }
    try {
      return await found.addresses;
    } catch (error) {
      if (!(error instanceof UnresolvedService)) throw error;
      throw new BackendError("unresolved", error.message, true);
    }
  }

  private async pooledSend(
    address: ServiceAddress,
    tls: BackendTls,
    outgoing: OutgoingRequest,
  ): Promise<BackendResponse> {
    const key = JSON.stringify([address, tls]);
    const pooled = this.pooled(key, address, tls);
    pooled.load += 1;
    clearTimeout(pooled.timer);
    let isOver = false;
    const onClose = () => {
      if (isOver) return;
      isOver = true;
      outgoing.onClose();
      pooled.load -= 1;
      if (pooled.load === 0) this.closeWhenIdle(key, pooled);
    };
    try {
      return await pooled.pool.send({ ...outgoing, onClose });
    } catch (error) {
      onClose();
      throw error;
    }
  }

  private pooled(key: string, address: ServiceAddress, tls: BackendTls): Pooled {
    const known = this.pools.get(key);
    if (known !== undefined) return known;
    const { clock, signal } = this.options;
    const pool = new ConnectionPool({ address, tls, clock, signal });
    const made: Pooled = { pool, load: 0, timer: undefined };
    this.pools.set(key, made);
    return made;
  }

  private closeWhenIdle(key: string, pooled: Pooled): void {
    pooled.timer = setTimeout(() => {
      this.pools.delete(key);
      pooled.pool.close();
    }, idleMs).unref();
  }
}

/** Whether another address may get the request: no server has processed it, and its body is whole. */
function mayRepeat(error: unknown, { body }: BackendRequest): boolean {
  const isUnread = !(body instanceof Readable) || !body.readableDidRead;
  return error instanceof BackendError && error.untouched && isUnread;
}
