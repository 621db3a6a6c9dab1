import { setMaxListeners } from "node:events";
import { assert } from "#base";
import { StoreFault } from "../backend.ts";
import { EtcdClient } from "./client.ts";
import { Channel } from "./rpc.ts";

export interface EtcdTls {
  /** PEM; absent = the system's roots. */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

interface LinkOptions {
  /** `http://host:port`, `https://host:port` or `host:port`; at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** An idle connection is probed after so long, and given up after half as long again. */
  readonly keepAliveMs: number;
}

/** One connection to one member. Never reused after it was suspected. */
export interface Link {
  readonly etcd: EtcdClient;
  readonly endpoint: string;
  /** Aborts when the link is given up, so that streams on it end. */
  readonly dropped: AbortSignal;
  /** True once a call on it succeeded. */
  proven: boolean;
}

/**
 * The connection in use: one member at a time, the next one as soon as this one gives trouble. A
 * single-address channel per member (and not one channel over all addresses) keeps TLS names per
 * member right, and lets go of a member that holds its connection open without answering.
 */
export class Links {
  #index: number;
  #current: { readonly link: Link; readonly drop: AbortController } | undefined;
  #closed = false;
  readonly #options: LinkOptions;

  /** `random` in [0, 1) spreads replicas over the members. */
  constructor(options: LinkOptions, random: () => number) {
    assert(options.endpoints.length > 0, "an etcd backend needs an endpoint");
    this.#options = options;
    this.#index = Math.floor(random() * options.endpoints.length);
  }

  get count(): number {
    return this.#options.endpoints.length;
  }

  /** Throws StoreFault `closed` after `close`. */
  async current(): Promise<Link> {
    if (this.#current !== undefined) return this.#current.link;
    if (this.#closed) throw new StoreFault({ kind: "closed" });
    this.#current ??= this.#open();
    return this.#current.link;
  }

  /** Gives the link up. Calls still running on it end by themselves; its streams are ended. */
  suspect(link: Link): void {
    if (this.#current?.link !== link) return;
    const { drop } = this.#current;
    this.#current = undefined;
    this.#index = (this.#index + 1) % this.count;
    drop.abort();
    link.etcd.close();
  }

  close(): void {
    this.#closed = true;
    if (this.#current !== undefined) this.suspect(this.#current.link);
  }

  #open(): { readonly link: Link; readonly drop: AbortController } {
    const endpoint = this.#options.endpoints[this.#index];
    assert(endpoint !== undefined, "the index stays inside the endpoints");
    const drop = new AbortController();
    // One listener per open stream.
    setMaxListeners(0, drop.signal);
    const { tls, keepAliveMs } = this.#options;
    const channel = new Channel({ url: urlOf(endpoint, tls), tls, keepAliveMs });
    const etcd = new EtcdClient(channel);
    return { link: { etcd, endpoint, dropped: drop.signal, proven: false }, drop };
  }
}

/** An endpoint without a scheme is spoken to as its neighbours are. */
function urlOf(endpoint: string, tls: EtcdTls | undefined): string {
  if (/^https?:\/\//.test(endpoint)) return endpoint;
  return `${tls === undefined ? "http" : "https"}://${endpoint}`;
}
