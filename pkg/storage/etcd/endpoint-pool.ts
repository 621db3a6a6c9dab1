import { setMaxListeners } from "node:events";
import type { Etcd3 } from "etcd3";
import { assert } from "#base";
import { StoreFault } from "../backend.ts";
import { Channel, type EtcdTls } from "./grpc/channel.ts";
import { EtcdClient } from "./etcd-client.ts";

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

/** What is in use, and what lets go of it. */
interface Current {
  readonly link: Link;
  readonly drop: () => void;
}

/**
 * The connection in use: one member at a time, the next one as soon as this one gives trouble. A
 * channel per member (and not one channel over all addresses) keeps TLS names per member right, and
 * lets go of a member that holds its connection open without answering.
 */
export class Links {
  #index: number;
  #serial = 0;
  #current: Current | undefined;
  #closed = false;
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
  current(): Link {
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
    drop();
  }

  /** Ends all calls, also those on links that were given up. */
  close(): void {
    this.#closed = true;
    if (this.#current !== undefined) this.suspect(this.#current.link);
    for (const cancel of this.#running) cancel();
  }

  #open(): Current {
    const endpoint = this.#options.endpoints[this.#index];
    assert(endpoint !== undefined, "the index stays inside the endpoints");
    const { tls, keepAliveMs } = this.#options;
    const dropped = new AbortController();
    // One listener per open stream.
    setMaxListeners(0, dropped.signal);
    const channel = new Channel({ endpoint, tls, keepAliveMs, running: this.#running });
    let library: Promise<Etcd3> | undefined;
    this.#serial += 1;
    const link = `${process.pid}-${this.#serial}-${performance.now()}`;
    const open = { link, endpoint, tls, keepAliveMs };
    const etcd = new EtcdClient(channel, () => (library ??= openLibrary(open)));
    const drop = (): void => {
      dropped.abort();
      channel.close();
      // That it could not be loaded was told to whoever asked for it.
      library?.then((opened) => opened.close()).catch(() => {});
    };
    return { link: { etcd, endpoint, dropped: dropped.signal, proven: false }, drop };
  }
}

interface LibraryOptions {
  /** The name of the link, which no other has. */
  readonly link: string;
  readonly endpoint: string;
  readonly tls: EtcdTls | undefined;
  readonly keepAliveMs: number;
}

async function openLibrary(options: LibraryOptions): Promise<Etcd3> {
  const { link, endpoint, tls, keepAliveMs } = options;
  const [etcd3, { noop }] = await Promise.all([import("etcd3"), import("cockatiel")]);
  return new etcd3.Etcd3({
    hosts: endpoint,
    // The library's own policies repeat writes and stop all calls after one failure.
    faultHandling: { host: () => noop, global: noop },
    ...(tls === undefined ? {} : { credentials: credentials(tls) }),
    grpcOptions: {
      "grpc.keepalive_time_ms": keepAliveMs,
      "grpc.keepalive_timeout_ms": Math.ceil(keepAliveMs / 2),
      // Channels with equal options share TCP connections in the process: a new link must not.
      "keelson.link": link,
    },
  });
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
