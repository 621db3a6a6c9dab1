import type { Etcd3 } from "etcd3";
import { assert, AsyncQueue } from "#base";

/** Bounds of one call. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call whose answers come as long as it lasts; each is fetched when it is asked for. */
export interface RawStream extends AsyncIterable<Buffer> {
  write(message: Buffer): void;
  cancel(): void;
}

/** The parts of gRPC's channel that are needed; the package itself stays behind etcd3. */
interface GrpcChannel {
  /** `deadline` in milliseconds since 1970. */
  createCall(path: string, deadline: number, ...rest: readonly [null, null, null]): GrpcCall;
}

interface GrpcCall {
  start(metadata: Metadata, listener: Listener): void;
  sendMessageWithContext(context: object, message: Buffer): void;
  /** Asks for one message. */
  startRead(): void;
  halfClose(): void;
  cancelWithStatus(code: number, details: string): void;
}

interface Listener {
  onReceiveMetadata(metadata: Metadata): void;
  onReceiveMessage(message: Buffer): void;
  /** The last thing that a call says. */
  onReceiveStatus(status: Status): void;
}

interface Status {
  readonly code: number;
  readonly details: string;
}

interface Metadata {
  clone(): Metadata;
  set(key: string, value: string): void;
}

interface Connection {
  readonly channel: GrpcChannel;
  readonly metadata: Metadata;
}

/** How the library lends out the client of its connection to a service. */
interface Lender {
  withConnection(service: "KV", use: (lent: Lent) => Connection): Promise<Connection>;
}

interface Lent {
  readonly client: { getChannel(): GrpcChannel };
  readonly metadata: Metadata;
}

interface ChannelOptions {
  /** Gives errors the classes that the library tells them apart by. */
  readonly fault: (error: Error) => Error;
  /** Holds what cancels the calls that have no answer yet. */
  readonly running: Set<() => void>;
}

const OK = 0;
const CANCELLED = 1;

/**
 * Calls over a connection that etcd3 keeps. Messages go past the library, in bytes, and past gRPC's
 * layer of methods and interceptors: the way through generic objects costs as much as all the rest
 * of a call.
 */
export class Channel {
  readonly #lender: Lender;
  readonly #fault: (error: Error) => Error;
  readonly #running: Set<() => void>;
  #connection: Connection | undefined;

  constructor(etcd: Etcd3, { fault, running }: ChannelOptions) {
    // Its service clients are no more than this lender with the names of the methods.
    this.#lender = (etcd.kv as unknown as { readonly client: Lender }).client;
    this.#fault = fault;
    this.#running = running;
  }

  async call(path: string, message: Buffer, options: CallOptions): Promise<Buffer> {
    const { channel, metadata } = this.#connection ?? (await this.#connect());
    const { timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const deadline = Date.now() + Math.max(1, timeoutMs);
    const call = channel.createCall(path, deadline, null, null, null);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => cancel(call);
      let answer: Buffer | undefined;
      call.start(metadata, {
        onReceiveMetadata() {},
        onReceiveMessage: (received) => (answer = received),
        onReceiveStatus: (status) => {
          signal?.removeEventListener("abort", onAbort);
          this.#running.delete(onAbort);
          if (status.code === OK && answer !== undefined) resolve(answer);
          else reject(this.#failed(status));
        },
      });
      call.sendMessageWithContext({}, message);
      call.startRead();
      call.halfClose();
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#running.add(onAbort);
    });
  }

  /** Failures come out of the iteration. */
  async stream(path: string): Promise<RawStream> {
    const { channel, metadata } = this.#connection ?? (await this.#connect());
    const call = channel.createCall(path, Infinity, null, null, null);
    const messages = new AsyncQueue<Buffer>(1);
    call.start(metadata, {
      onReceiveMetadata() {},
      onReceiveMessage(message) {
        assert(messages.push(message), "messages come one by one, as they are asked for");
      },
      onReceiveStatus: (status) => {
        if (status.code === OK) messages.end();
        else messages.fail(this.#failed(status));
      },
    });
    const next = (): Promise<IteratorResult<Buffer, undefined>> => {
      call.startRead();
      return messages.next();
    };
    return {
      write: (message) => call.sendMessageWithContext({}, message),
      cancel: () => cancel(call),
      [Symbol.asyncIterator]: () => ({ next }),
    };
  }

  #failed({ code, details }: Status): Error {
    const message = details === "" ? "etcd gave no answer" : details;
    return this.#fault(Object.assign(new Error(message), { code }));
  }

  async #connect(): Promise<Connection> {
    this.#connection = await this.#lender.withConnection("KV", ({ client, metadata }) => {
      const own = metadata.clone();
      // A member that has lost its leader says so at once instead of holding the call.
      own.set("hasleader", "true");
      return { channel: client.getChannel(), metadata: own };
    });
    return this.#connection;
  }
}

function cancel(call: GrpcCall): void {
  call.cancelWithStatus(CANCELLED, "Cancelled on client");
}
