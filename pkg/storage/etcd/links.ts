import { setMaxListeners } from "node:events";
import type { Etcd3 } from "etcd3";
import { assert } from "#base";
import { StoreFault } from "../backend.ts";
import { Channel } from "./channel.ts";
import { EtcdClient } from "./client.ts";

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

/** Loaded at the first call: they cost a fifth of a second, which no other backend should pay. */
interface Libraries {
  readonly etcd3: typeof import("etcd3");
  readonly cockatiel: typeof import("cockatiel");
}

/**
 * The connection in use: one member at a time, the next one as soon as this one gives trouble. A
 * single-address channel per member (and not one channel over all addresses) keeps TLS names per
 * member right, and lets go of a member that holds its connection open without answering.
 */
export class Links {
  #index: number;
  #serial = 0;
  #current: { readonly link: Link; readonly drop: AbortController } | undefined;
  #closed = false;
  #libraries: Promise<Libraries> | undefined;
  readonly #options: LinkOptions;
  readonly #running = new Set<() => void>();

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
    this.#libraries ??= load();
    const libraries = await this.#libraries;
    if (this.#closed) throw new StoreFault({ kind: "closed" });
    this.#current ??= this.#open(libraries);
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

  /** Ends all calls, also those on links that were given up. */
  close(): void {
    this.#closed = true;
    if (this.#current !== undefined) this.suspect(this.#current.link);
    for (const cancel of this.#running) cancel();
  }

  #open(libraries: Libraries): { readonly link: Link; readonly drop: AbortController } {
    const endpoint = this.#options.endpoints[this.#index];
    assert(endpoint !== undefined, "the index stays inside the endpoints");
    const drop = new AbortController();
    // One listener per open stream.
    setMaxListeners(0, drop.signal);
    const library = this.#library(endpoint, libraries);
    const channel = new Channel(library, {
      fault: libraries.etcd3.castGrpcError,
      running: this.#running,
    });
    const etcd = new EtcdClient(channel, () => library.close());
    return { link: { etcd, endpoint, dropped: drop.signal, proven: false }, drop };
  }

  #library(endpoint: string, { etcd3, cockatiel: { noop } }: Libraries): Etcd3 {
    const { tls, keepAliveMs } = this.#options;
    this.#serial += 1;
    return new etcd3.Etcd3({
      hosts: endpoint,
      // The library's own policies repeat writes and stop all calls after one failure.
      faultHandling: { host: () => noop, global: noop },
      ...(tls === undefined ? {} : { credentials: credentials(tls) }),
      grpcOptions: {
        "grpc.max_receive_message_length": -1,
        "grpc.max_send_message_length": -1,
        // Large answers come in one go: with 64 KiB each piece would wait for a round trip.
        "grpc-node.flow_control_window": 8 * 2 ** 20,
        "grpc.keepalive_time_ms": keepAliveMs,
        "grpc.keepalive_timeout_ms": Math.ceil(keepAliveMs / 2),
        "grpc.initial_reconnect_backoff_ms": 100,
        "grpc.max_reconnect_backoff_ms": 2_000,
        // Work per call for what nobody asks for: the caller repeats calls where that is safe.
        "grpc.enable_retries": 0,
        "grpc.enable_channelz": 0,
        "grpc.service_config_disable_resolution": 1,
        // Channels with equal options share TCP connections in the process: a new link must not.
        "keelson.link": `${process.pid}-${this.#serial}-${performance.now()}`,
      },
    });
  }
}

async function load(): Promise<Libraries> {
  const [etcd3, cockatiel] = await Promise.all([import("etcd3"), import("cockatiel")]);
  return { etcd3, cockatiel };
}

function credentials({ ca, cert, key }: EtcdTls): {
  rootCertificate: Buffer;
  privateKey?: Buffer;
  certChain?: Buffer;
} {
  return {
    // The library's type insists on a root; absent means the system's roots to gRPC.
    rootCertificate: ca as Buffer,
    ...(key === undefined ? {} : { privateKey: key }),
    ...(cert === undefined ? {} : { certChain: cert }),
  };
}
