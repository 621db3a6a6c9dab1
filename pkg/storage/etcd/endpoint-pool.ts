import { setMaxListeners } from "node:events";
import type { Etcd3 } from "etcd3";
import { assert } from "#base";
import { StoreFault } from "../backend.ts";
import { Channel, type EtcdTls, type RunningCall } from "./grpc/channel.ts";
import { openEtcd3Client } from "./etcd3-client.ts";
import { EtcdClient } from "./etcd-client.ts";

interface EndpointPoolOptions {
  /** `http://host:port`, `https://host:port` or `host:port`; at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** Interval of keepalive pings in ms; without a response for half of it, the connection is closed. */
  readonly keepAliveMs: number;
}

/** A connection to one member. It is never reused after it was marked unhealthy. */
export interface EtcdConnection {
  readonly client: EtcdClient;
  readonly endpoint: string;
  /** Aborts when the connection is marked unhealthy, which ends its streams. */
  readonly closed: AbortSignal;
  /** True once a call on it succeeded. */
  verified: boolean;
}

interface Current {
  readonly connection: EtcdConnection;
  readonly close: () => void;
}

/**
 * The etcd members, of which one is used at a time, until it is marked unhealthy. There is a channel per
 * member instead of one over all addresses, so that each has its TLS server name, and a member that
 * keeps its connection open without responding can be abandoned.
 */
export class EndpointPool {
  #index: number;
  #serial = 0;
  #current: Current | undefined;
  #closed = false;
  readonly #options: EndpointPoolOptions;
  /** The calls without an answer, on all channels. */
  readonly #running = new Set<RunningCall>();

  /** `random` in [0, 1) selects the first member, so that replicas spread over the members. */
  constructor(options: EndpointPoolOptions, random: () => number) {
    assert(options.endpoints.length > 0, "an etcd backend needs an endpoint");
    this.#options = options;
    this.#index = Math.floor(random() * options.endpoints.length);
  }

  get count(): number {
    return this.#options.endpoints.length;
  }

  /** @throws StoreFault `closed` after `close` */
  current(): EtcdConnection {
    if (this.#closed) throw new StoreFault({ kind: "closed" });
    this.#current ??= this.#open();
    return this.#current.connection;
  }

  /** Switches to the next member. Pending unary calls finish; streams are ended. */
  markUnhealthy(connection: EtcdConnection): void {
    if (this.#current?.connection !== connection) return;
    const { close } = this.#current;
    this.#current = undefined;
    this.#index = (this.#index + 1) % this.count;
    close();
  }

  /** Cancels all calls, including those on connections that were marked unhealthy. */
  close(): void {
    this.#closed = true;
    if (this.#current !== undefined) this.markUnhealthy(this.#current.connection);
    for (const { cancel } of this.#running) cancel?.();
  }

  #open(): Current {
    const endpoint = this.#options.endpoints[this.#index];
    assert(endpoint !== undefined, "the index stays inside the endpoints");
    const { tls, keepAliveMs } = this.#options;
    const closing = new AbortController();
    // One listener per open stream.
    setMaxListeners(0, closing.signal);
    const channel = new Channel({ endpoint, tls, keepAliveMs, running: this.#running });
    let etcd3: Promise<Etcd3> | undefined;
    this.#serial += 1;
    const connection = `${process.pid}-${this.#serial}-${performance.now()}`;
    const options = { connection, endpoint, tls, keepAliveMs };
    const client = new EtcdClient(channel, () => (etcd3 ??= openEtcd3Client(options)));
    const close = (): void => {
      closing.abort();
      channel.close();
      // A load error was already reported to the call that needed etcd3.
      etcd3?.then((opened) => opened.close()).catch(() => {});
    };
    const { signal: closed } = closing;
    return { connection: { client, endpoint, closed, verified: false }, close };
  }
}
