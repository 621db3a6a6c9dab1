import type { Etcd3 } from "etcd3";
import type { RangeResult, Transaction, TransactionResult } from "../backend.ts";
import type { CallOptions, Channel, RawStream } from "./grpc/channel.ts";
import {
  decodeRange,
  decodeRevision,
  decodeTransaction,
  encodeRange,
  encodeRevisionRequest,
  encodeTransaction,
  encodeWatch,
  type RangeRequest,
} from "./messages.ts";

const paths = {
  range: "/etcdserverpb.KV/Range",
  txn: "/etcdserverpb.KV/Txn",
  watch: "/etcdserverpb.Watch/Watch",
} as const;

/**
 * The etcd API of one member. The frequent calls Range, Txn and Watch use Channel; leases and compaction
 * use etcd3 (docs/decisions/003-etcd-transport.md).
 */
export class EtcdClient {
  readonly #channel: Channel;
  readonly #etcd3: () => Promise<Etcd3>;

  /** `etcd3` is loaded on first use: loading takes 0.2 s and 15 MB. */
  constructor(channel: Channel, etcd3: () => Promise<Etcd3>) {
    this.#channel = channel;
    this.#etcd3 = etcd3;
  }

  range(request: RangeRequest, options: CallOptions): Promise<RangeResult> {
    return this.#channel.call(paths.range, encodeRange(request), options).then(decodeRange);
  }

  /** The newest revision, linearizable. */
  revision(options: CallOptions): Promise<number> {
    return this.#channel.call(paths.range, encodeRevisionRequest(), options).then(decodeRevision);
  }

  /** `leases` has a lease id, or undefined, for each operation of `then`. */
  txn(
    transaction: Transaction,
    leases: readonly (string | undefined)[],
    options: CallOptions,
  ): Promise<TransactionResult> {
    const message = encodeTransaction(transaction, leases);
    return this.#channel.call(paths.txn, message, options).then(decodeTransaction);
  }

  async compact(revision: number, { timeoutMs }: CallOptions): Promise<void> {
    const { kv } = await this.#etcd3();
    await kv.compact({ revision }, { deadline: Date.now() + timeoutMs });
  }

  /** Returns the id of a new lease: a 64-bit number in decimal. */
  async grantLease(seconds: number, { timeoutMs }: CallOptions): Promise<string> {
    const { leaseClient } = await this.#etcd3();
    const { ID } = await leaseClient.leaseGrant(
      { TTL: seconds },
      { deadline: Date.now() + timeoutMs },
    );
    return ID;
  }

  /** Watches all keys. `decodeWatch` decodes the messages. */
  watch(fromRevision: number): RawStream {
    const stream = this.#channel.stream(paths.watch);
    stream.write(encodeWatch(fromRevision));
    return stream;
  }
}
