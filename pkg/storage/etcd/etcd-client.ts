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

/** The calls of etcd's API that the backend makes to one member. */
export class EtcdClient {
  readonly #channel: Channel;
  readonly #library: () => Promise<Etcd3>;

  /** `library` makes the calls that are rare; it costs a fifth of a second and 15 MB to load. */
  constructor(channel: Channel, library: () => Promise<Etcd3>) {
    this.#channel = channel;
    this.#library = library;
  }

  range(request: RangeRequest, options: CallOptions): Promise<RangeResult> {
    return this.#channel.call(paths.range, encodeRange(request), options).then(decodeRange);
  }

  /** The newest revision, linearizable. */
  revision(options: CallOptions): Promise<number> {
    return this.#channel.call(paths.range, encodeRevisionRequest(), options).then(decodeRevision);
  }

  /** `leases` by the place of the put in `then`. */
  txn(
    transaction: Transaction,
    leases: readonly (string | undefined)[],
    options: CallOptions,
  ): Promise<TransactionResult> {
    const message = encodeTransaction(transaction, leases);
    return this.#channel.call(paths.txn, message, options).then(decodeTransaction);
  }

  async compact(revision: number, { timeoutMs }: CallOptions): Promise<void> {
    const { kv } = await this.#library();
    await kv.compact({ revision }, { deadline: Date.now() + timeoutMs });
  }

  /** The id of a new lease, a 64-bit number in decimal. */
  async grantLease(seconds: number, { timeoutMs }: CallOptions): Promise<string> {
    const { leaseClient } = await this.#library();
    const { ID } = await leaseClient.leaseGrant(
      { TTL: seconds },
      { deadline: Date.now() + timeoutMs },
    );
    return ID;
  }

  /** Watches all keys. The messages are those that `decodeWatch` reads. */
  watch(fromRevision: number): RawStream {
    const stream = this.#channel.stream(paths.watch);
    stream.write(encodeWatch(fromRevision));
    return stream;
  }
}
