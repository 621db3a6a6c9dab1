import { setMaxListeners } from "node:events";
import { Readable } from "node:stream";
import { type Clock, hostAndPort, type Random, setBounded } from "#base";
import {
  type ApiAddress,
  type Dialer,
  type DialTarget,
  resolveService,
  type ServiceReader,
  type ServiceRouting,
  SimulatedAddress,
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
import { cachedReader } from "./cached-reader.ts";
import { ConnectionPools } from "./connection-pools.ts";
import { type BackendTls, backendTls, type ClientCertificate } from "./dial.ts";
import { requestHeaders } from "./headers.ts";
import { RequestLifetime } from "./request-lifetime.ts";
import { type OutgoingRequest, sendUpgrade, type UpgradeResponse } from "./http1-request.ts";

export interface BackendsOptions {
  readonly reader: ServiceReader;
  readonly dialer: Dialer;
  readonly routing: ServiceRouting;
  readonly random: Random;
  readonly clock: Clock;
  /** Current client certificate of this server, read for every request; undefined = none. */
  readonly client: () => ClientCertificate | undefined;
  /** Aborts to close all connections. */
  readonly signal: AbortSignal;
}

const defaultPort = 443;
/** Time in ms for which an address that refused a connection is tried last. */
const unhealthyMs = 5_000;
const maxUnhealthy = 1_000;

interface Probe {
  readonly address: ApiAddress;
  readonly path: string;
  readonly timeoutMs: number;
}

/** User of availability probes, kube-aggregator's. */
const aggregatorUser: User = {
  name: "system:kube-aggregator",
  uid: "",
  groups: ["system:masters"],
  extra: new Map(),
};

/** Servers behind APIServices, over pooled connections. */
export class Backends implements BackendTransport {
  private readonly pools: ConnectionPools;
  private readonly reader: ServiceReader;
  private readonly tls = new WeakMap<ApiService, BackendTls>();
  /** Monotonic time in ms until which an address is tried last, by address. */
  private readonly unhealthyUntil = new Map<string, number>();

  constructor(private readonly options: BackendsOptions) {
    // Every connection adds a listener, so Node's leak warning does not apply.
    setMaxListeners(0, options.signal);
    this.pools = new ConnectionPools(options);
    this.reader = cachedReader(options.reader, options.clock);
  }

  /**
   * Tries the addresses of the Service in turn until one accepts the request.
   * @throws BackendError, or the reason of the request's signal
   */
  readonly send = (apiService: ApiService, request: BackendRequest): Promise<BackendResponse> =>
    this.tryAddresses(apiService, request, (target, tls, outgoing) =>
      this.pools.send(target, tls, outgoing),
    );

  /**
   * Sends an `Upgrade` request on a dedicated connection.
   * @throws BackendError, or the reason of the request's signal
   */
  readonly upgrade = (
    apiService: ApiService,
    request: BackendRequest & { readonly protocol: string },
  ): Promise<UpgradeResponse> =>
    this.tryAddresses(apiService, request, (target, tls, outgoing) => {
      const headers = { ...outgoing.headers, connection: "Upgrade", upgrade: request.protocol };
      return sendUpgrade(target, tls, { ...outgoing, headers });
    });

  /** Addresses of the Service, in the order in which they are tried. */
  readonly addressesOf = (apiService: ApiService): Promise<readonly ApiAddress[]> =>
    this.resolve(apiService);

  /**
   * Sends a GET to one address, without verifying the certificate; returns the status code.
   * @throws BackendError
   */
  readonly probe = async (
    apiService: ApiService,
    { address, path, timeoutMs }: Probe,
  ): Promise<number> => {
    const { signal } = this.options;
    const tls = backendTls({ ...this.tlsOf(apiService), isInsecure: true });
    const request = { method: "GET", path, headers: {}, user: aggregatorUser, signal, timeoutMs };
    const lifetime = new RequestLifetime(request);
    try {
      const { status, body } = await lifetime.attempt(async (own) => {
        const headers = { ...requestHeaders(request), host: hostAndPort(address) };
        const outgoing = { method: "GET", path, headers, body: undefined, ...own };
        return this.pools.send(await this.targetOf(address, own.signal), tls, outgoing);
      });
      body.destroy();
      return status;
    } finally {
      lifetime.end();
    }
  };

  private async tryAddresses<T>(
    apiService: ApiService,
    request: BackendRequest,
    send: (target: DialTarget, tls: BackendTls, outgoing: OutgoingRequest) => Promise<T>,
  ): Promise<T> {
    const tls = this.tlsOf(apiService);
    const headers = requestHeaders(request);
    const lifetime = new RequestLifetime(request);
    try {
      const addresses = await this.resolve(apiService);
      for (const [index, address] of addresses.entries()) {
        try {
          return await lifetime.attempt(async (own) => {
            const host = hostAndPort(address);
            const named = request.namesBackend === true ? { "x-forwarded-host": host } : {};
            const sent = { ...headers, ...named, host };
            const { method, path, body } = request;
            const target = await this.targetOf(address, own.signal);
            return send(target, tls, { method, path, headers: sent, body, ...own });
          });
        } catch (error) {
          const isLast = index === addresses.length - 1;
          if (isLast || !mayRetry(error, request)) throw error;
          this.markUnhealthy(address);
        }
      }
      throw new BackendError("unresolved", "no addresses", true);
    } catch (error) {
      lifetime.end();
      throw error;
    }
  }

  /** Cached per object: an update of the APIService or the client certificate rebuilds the settings. */
  private tlsOf(apiService: ApiService): BackendTls {
    const client = this.options.client();
    const known = this.tls.get(apiService);
    if (known !== undefined && known.client === client) return known;
    const { service, caBundle = "", insecureSkipTLSVerify: isInsecure = false } = apiService.spec;
    const tls = backendTls({
      serverName: `${service?.name ?? ""}.${service?.namespace ?? ""}.svc`,
      authorities: Buffer.from(caBundle, "base64").toString("utf8"),
      isInsecure,
      client,
    });
    this.tls.set(apiService, tls);
    return tls;
  }

  private async resolve({ spec }: ApiService): Promise<readonly ApiAddress[]> {
    const { routing, random, clock } = this.options;
    const { namespace = "", name = "", port = defaultPort } = spec.service ?? {};
    try {
      const reference = { namespace, name, port };
      const addresses = await resolveService(this.reader, reference, { routing, random });
      const now = clock.monotonic();
      const isUnhealthy = (address: ApiAddress) =>
        (this.unhealthyUntil.get(hostAndPort(address)) ?? 0) > now;
      const healthy = addresses.filter((address) => !isUnhealthy(address));
      if (healthy.length === addresses.length) return addresses;
      return [...healthy, ...addresses.filter(isUnhealthy)];
    } catch (error) {
      if (!(error instanceof UnresolvedService)) throw error;
      throw new BackendError("unresolved", error.message, true);
    }
  }

  /** @throws BackendError for a simulated address, or the signal's reason */
  private async targetOf(address: ApiAddress, signal: AbortSignal): Promise<DialTarget> {
    try {
      return await this.options.dialer.targetOf(address, signal);
    } catch (error) {
      if (!(error instanceof SimulatedAddress)) throw error;
      throw new BackendError("unreachable", error.message, true);
    }
  }

  private markUnhealthy(address: ApiAddress): void {
    const until = this.options.clock.monotonic() + unhealthyMs;
    setBounded(this.unhealthyUntil, [hostAndPort(address), until], maxUnhealthy);
  }
}

/** Whether the request can be sent to another address: it was not processed, its body is unread. */
function mayRetry(error: unknown, { body }: BackendRequest): boolean {
  const isUnread = !(body instanceof Readable) || !body.readableDidRead;
  return error instanceof BackendError && error.isUnprocessed && isUnread;
}
