import type { RangeResult, Transaction, TransactionResult } from "../backend.ts";
import type { CallOptions, Channel, RawStream } from "./channel.ts";
import {
  decodeLeaseGrant,
  decodeRange,
  decodeRevision,
  decodeTransaction,
  encodeCompaction,
  encodeLeaseGrant,
  encodeRange,
  encodeRevisionRequest,
  encodeTransaction,
  encodeWatch,
  type RangeRequest,
} from "./messages.ts";

/** The calls of etcd's API that the backend makes, over one channel. */
export class EtcdClient {
  readonly #channel: Channel;
  /** Lets go of the connection. */
  readonly close: () => void;

  constructor(channel: Channel, close: () => void) {
    this.#channel = channel;
    this.close = close;
  }

  async range(request: RangeRequest, options: CallOptions): Promise<RangeResult> {
    const message = encodeRange(request);
    return decodeRange(await this.#channel.call("/etcdserverpb.KV/Range", message, options));
  }

  /** The newest revision, linearizable. */
  async revision(options: CallOptions): Promise<number> {
    const message = encodeRevisionRequest();
    return decodeRevision(await this.#channel.call("/etcdserverpb.KV/Range", message, options));
  }

  /** `leases` by the place of the put in `then`. */
  async txn(
    transaction: Transaction,
    leases: readonly (string | undefined)[],
    options: CallOptions,
  ): Promise<TransactionResult> {
    const message = encodeTransaction(transaction, leases);
    return decodeTransaction(await this.#channel.call("/etcdserverpb.KV/Txn", message, options));
  }

  async compact(revision: number, options: CallOptions): Promise<void> {
    await this.#channel.call("/etcdserverpb.KV/Compact", encodeCompaction(revision), options);
  }

  /** The id of a new lease, a 64-bit number in decimal. */
  async grantLease(seconds: number, options: CallOptions): Promise<string> {
    const message = encodeLeaseGrant(seconds);
    const answer = await this.#channel.call("/etcdserverpb.Lease/LeaseGrant", message, options);
    return decodeLeaseGrant(answer);
  }

  /** Watches all keys. The messages are those that `decodeWatch` reads. */
  async watch(fromRevision: number): Promise<RawStream> {
    const stream = await this.#channel.stream("/etcdserverpb.Watch/Watch");
    stream.write(encodeWatch(fromRevision));
    return stream;
  }
}
