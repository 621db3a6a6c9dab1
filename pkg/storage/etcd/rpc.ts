import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import type { EtcdTls } from "./links.ts";

/** Why a call failed. `status` is gRPC's number where the other end said it. */
export class RpcFault extends Error {
  override readonly name = "RpcFault";
  constructor(
    readonly what:
      | "status"
      /** It is certain that the request was not taken. */
      | "unsent"
      | "lost"
      | "late"
      | "canceled",
    message: string,
    readonly status = 0,
  ) {
    super(message);
  }
}

interface ChannelOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly url: string;
  readonly tls: EtcdTls | undefined;
  /** A connection with calls on it is probed this often; half of it is the time to answer. */
  readonly keepAliveMs: number;
}

export interface CallOptions {
  /** Absent = as long as it takes. */
  readonly timeoutMs?: number | undefined;
  readonly cancel?: Cancel | undefined;
}

/** Cancels one call, on its way or before. */
export class Cancel {
  #canceled = false;
  #run: (() => void) | undefined;

  get canceled(): boolean {
    return this.#canceled;
  }

  readonly cancel = (): void => {
    this.#canceled = true;
    this.#run?.();
  };

  set onCancel(run: () => void) {
    this.#run = run;
  }
}

/** What each end may send before the other one reads; large answers should come in one go. */
const streamWindow = 8 * 2 ** 20;
const connectionWindow = 64 * 2 ** 20;
const prefixBytes = 5;
const deadlineExceeded = 4;
const unavailable = 14;

/**
 * gRPC over one HTTP/2 connection to one member: unary calls and streams of whole messages, without
 * compression. The connection is made at the first call, and made again after it was lost.
 */
export class Channel {
  readonly #options: ChannelOptions;
  #session: Promise<ClientHttp2Session> | undefined;
  #connecting: ClientHttp2Session | undefined;
  #open: ClientHttp2Session | undefined;
  #closed = false;
  #active = 0;
  #probe: NodeJS.Timeout | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** One message there and one back. */
  async call(path: string, message: Uint8Array, options: CallOptions): Promise<Buffer> {
    const { timeoutMs, cancel } = options;
    const deadline = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
    const session = await this.#connected(options);
    const left = deadline - performance.now();
    const stream = this.#request(session, path, left);
    try {
      return await unary(stream, framed(message), { left, cancel });
    } finally {
      this.#active -= 1;
    }
  }

  /** Messages both ways until the other end, an error or `cancel` ends it. */
  async stream(path: string): Promise<MessageStream> {
    const session = await this.#connected({});
    const stream = this.#request(session, path, Infinity);
    stream.once("close", () => (this.#active -= 1));
    return new MessageStream(stream);
  }

  /** Calls that are under way end as lost. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#probe);
    this.#connecting?.destroy();
    this.#open?.destroy();
  }

  #request(session: ClientHttp2Session, path: string, left: number): ClientHttp2Stream {
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(headersOf(path, left));
    } catch (error) {
      throw new RpcFault("unsent", textOf(error), unavailable);
    }
    this.#active += 1;
    return stream;
  }

  /** The connection, within the time of the call. */
  async #connected({ timeoutMs, cancel }: CallOptions): Promise<ClientHttp2Session> {
    if (cancel?.canceled) throw new RpcFault("canceled", "aborted");
    const open = this.#open;
    if (open !== undefined && !open.closed && !open.destroyed) return open;
    if (this.#closed) throw new RpcFault("unsent", "the channel is closed", unavailable);
    this.#session ??= this.#connect();
    if (timeoutMs === undefined) return this.#session;
    return withinTime(this.#session, timeoutMs);
  }

  #connect(): Promise<ClientHttp2Session> {
    const { url, tls } = this.#options;
    const session = connect(url, {
      settings: { initialWindowSize: streamWindow, enablePush: false },
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls?.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls?.key === undefined ? {} : { key: tls.key }),
    });
    this.#connecting = session;
    const lost = (): void => {
      if (this.#open === session) this.#open = undefined;
      this.#session = undefined;
      clearInterval(this.#probe);
    };
    session.once("close", lost);
    // The other end takes no new calls here; those under way go on.
    session.once("goaway", lost);
    return new Promise((resolve, reject) => {
      session.on("error", (error) => {
        lost();
        const why = `No connection established. Last error: ${textOf(error)}`;
        reject(new RpcFault("unsent", why, unavailable));
      });
      session.once("close", () => {
        reject(new RpcFault("unsent", "No connection established: closed", unavailable));
      });
      session.once("connect", () => {
        session.setLocalWindowSize(connectionWindow);
        session.setMaxListeners(0);
        this.#open = session;
        this.#keepAlive(session);
        if (this.#closed) session.destroy();
        resolve(session);
      });
    });
  }

  /** The other end refuses probes of a connection without calls. */
  #keepAlive(session: ClientHttp2Session): void {
    const { keepAliveMs } = this.#options;
    clearInterval(this.#probe);
    this.#probe = setInterval(() => {
      if (this.#active === 0 || session.destroyed) return;
      const late = setTimeout(() => {
        session.destroy(new Error("keepalive probe without an answer"));
      }, keepAliveMs / 2);
      late.unref();
      session.ping(() => clearTimeout(late));
    }, keepAliveMs);
    this.#probe.unref();
  }
}

/** A stream of messages. Paced by its reader. */
export class MessageStream {
  readonly #stream: ClientHttp2Stream;
  readonly #ending: Ending;

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    this.#ending = new Ending(stream);
  }

  write(message: Uint8Array): void {
    this.#stream.write(framed(message));
  }

  /** The last message there. */
  end(message: Uint8Array): void {
    this.#stream.end(framed(message));
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Throws RpcFault unless the other end ended it in order. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const frames = new Frames();
    try {
      for await (const chunk of this.#stream) {
        frames.push(chunk as Buffer);
        for (let next = frames.take(); next !== undefined; next = frames.take()) yield next;
      }
    } catch (error) {
      throw this.#ending.fault ?? new RpcFault("lost", textOf(error), unavailable);
    }
    const { fault } = this.#ending;
    if (fault !== undefined) throw fault;
  }
}

function headersOf(path: string, left: number): Record<string, string> {
  return {
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    // A member that lost its leader then says so at once instead of holding the call.
    hasleader: "true",
    ...(left === Infinity ? {} : { "grpc-timeout": `${Math.max(1, Math.ceil(left))}m` }),
  };
}

/** Length-prefixed, not compressed. */
function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.byteLength);
  frame[0] = 0;
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, prefixBytes);
  return frame;
}

interface Limits {
  readonly left: number;
  readonly cancel: Cancel | undefined;
}

function unary(
  stream: ClientHttp2Stream,
  frame: Buffer,
  { left, cancel }: Limits,
): Promise<Buffer> {
  const ending = new Ending(stream);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let early: RpcFault | undefined;
    const give = (fault: RpcFault): void => {
      early ??= fault;
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const late = `Deadline exceeded after ${Math.round(left)}ms`;
    const timer =
      left === Infinity
        ? undefined
        : setTimeout(() => give(new RpcFault("late", late, deadlineExceeded)), left);
    if (cancel !== undefined) {
      cancel.onCancel = () => give(new RpcFault("canceled", "aborted"));
    }
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("close", () => {
      clearTimeout(timer);
      const fault = early ?? ending.fault;
      if (fault !== undefined) return reject(fault);
      const whole = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      if (whole.length < prefixBytes) {
        return reject(new RpcFault("lost", "the answer is empty", unavailable));
      }
      resolve(whole.subarray(prefixBytes));
    });
    stream.end(frame);
  });
}

/** How a stream came to its end: by a status in headers or trailers, or without one. */
class Ending {
  #status: number | undefined;
  #message = "";
  #error: Error | undefined;
  readonly #stream: ClientHttp2Stream;

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on("response", (headers) => this.#read(headers));
    stream.on("trailers", (headers) => this.#read(headers));
    stream.on("error", (error) => (this.#error ??= error));
  }

  /** Undefined when the other end said that all is well. */
  get fault(): RpcFault | undefined {
    if (this.#status === 0) return undefined;
    if (this.#status !== undefined) return new RpcFault("status", this.#message, this.#status);
    const { rstCode } = this.#stream;
    const refused = rstCode === constants.NGHTTP2_REFUSED_STREAM;
    const why = this.#error === undefined ? "Connection dropped" : textOf(this.#error);
    return new RpcFault(refused ? "unsent" : "lost", why, unavailable);
  }

  #read(headers: IncomingHttpHeaders): void {
    const http = headers[":status"];
    if (http !== undefined && Number(http) !== 200) {
      this.#status = unavailable;
      this.#message = `HTTP status ${http}`;
    }
    const status = headers["grpc-status"];
    if (typeof status !== "string") return;
    this.#status = Number(status);
    const message = headers["grpc-message"];
    this.#message = typeof message === "string" ? unescaped(message) : "";
  }
}

function unescaped(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

/** Puts messages together from the pieces in which they come. */
class Frames {
  #pieces: Buffer[] = [];
  #size = 0;

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
  }

  /** The next whole message; undefined when more must come first. */
  take(): Buffer | undefined {
    if (this.#size < prefixBytes) return undefined;
    const head = this.#joined(prefixBytes);
    const length = prefixBytes + head.readUInt32BE(1);
    if (this.#size < length) return undefined;
    const whole = this.#joined(length);
    this.#pieces[0] = whole.subarray(length);
    this.#size -= length;
    if (this.#size === 0) this.#pieces = [];
    return whole.subarray(prefixBytes, length);
  }

  /** The first piece, made long enough. */
  #joined(length: number): Buffer {
    if (this.#pieces[0]!.length < length) this.#pieces = [Buffer.concat(this.#pieces, this.#size)];
    return this.#pieces[0]!;
  }
}

function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const why = `Deadline exceeded after ${Math.round(timeoutMs)}ms, No connection established`;
      reject(new RpcFault("unsent", why, deadlineExceeded));
    }, timeoutMs);
    const settle = (): void => clearTimeout(timer);
    work.then(
      (value) => (settle(), resolve(value)),
      (error: unknown) => (settle(), reject(error as Error)),
    );
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
