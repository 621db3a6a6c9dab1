import type { Etcd3 } from "etcd3";

/** Bounds of one call. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call whose answers come as long as it lasts. */
export interface RawStream extends AsyncIterable<Buffer> {
  write(message: Buffer): void;
  cancel(): void;
}

/** The parts of gRPC's client that are needed; the package itself stays behind etcd3. */
interface GrpcClient {
  makeUnaryRequest(
    path: string,
    ...rest: readonly [Same, Same, Buffer, Metadata, object, Answered]
  ): { cancel(): void };
  makeBidiStreamRequest(
    path: string,
    ...rest: readonly [Same, Same, Metadata, object]
  ): RawStream & { on(event: "error", listener: (error: Error) => void): unknown };
}

interface Metadata {
  clone(): Metadata;
  set(key: string, value: string): void;
}

type Same = (message: Buffer) => Buffer;
type Answered = (error: Error | null, answer?: Buffer) => void;

interface Connection {
  readonly client: GrpcClient;
  readonly metadata: Metadata;
}

/** How the library lends out the client of its connection to a service. */
interface Lender {
  withConnection(service: "KV", use: (lent: Connection) => Connection): Promise<Connection>;
}

interface ChannelOptions {
  /** Gives errors the classes that the library tells them apart by. */
  readonly fault: (error: Error) => Error;
  /** Holds what cancels the calls that have no answer yet. */
  readonly running: Set<() => void>;
}

/**
 * Calls over a connection that etcd3 keeps. Messages go past the library, in bytes: its own way
 * through generic objects costs as much as all the rest of a call.
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
    const { client, metadata } = this.#connection ?? (await this.#connect());
    const { timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const deadline = Date.now() + Math.max(1, timeoutMs);
    return new Promise((resolve, reject) => {
      const answered: Answered = (error, answer) => {
        signal?.removeEventListener("abort", cancel);
        this.#running.delete(cancel);
        if (answer !== undefined) resolve(answer);
        else reject(this.#fault(error ?? new Error("etcd answered without a message")));
      };
      const rest = [same, same, message, metadata, { deadline }, answered] as const;
      const call = withoutStacks(() => client.makeUnaryRequest(path, ...rest));
      const cancel = (): void => call.cancel();
      signal?.addEventListener("abort", cancel, { once: true });
      this.#running.add(cancel);
    });
  }

  /** Failures come out of the iteration. */
  async stream(path: string): Promise<RawStream> {
    const { client, metadata } = this.#connection ?? (await this.#connect());
    const stream = client.makeBidiStreamRequest(path, same, same, metadata, {});
    // Errors reach the reader through the iteration; a later one (of the cancelling) is expected.
    stream.on("error", () => {});
    return {
      write: (message) => stream.write(message),
      cancel: () => stream.cancel(),
      [Symbol.asyncIterator]: () => this.#messages(stream),
    };
  }

  async *#messages(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* stream;
    } catch (error) {
      throw error instanceof Error ? this.#fault(error) : error;
    }
  }

  async #connect(): Promise<Connection> {
    this.#connection = await this.#lender.withConnection("KV", ({ client, metadata }) => {
      const own = metadata.clone();
      // A member that has lost its leader says so at once instead of holding the call.
      own.set("hasleader", "true");
      return { client, metadata: own };
    });
    return this.#connection;
  }
}

const same: Same = (message) => message;

/** For work that makes an error in advance, whose stack it would rarely need and always collect. */
function withoutStacks<T>(work: () => T): T {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = before;
  }
}
