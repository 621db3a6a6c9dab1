import { connect, type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { connect as connectSocket, isIP, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { trustServers } from "#base";
import { GrpcError, grpcStatus } from "./failures.ts";
import { frameOf, Frames, onlyMessage } from "./frames.ts";

/** Bounds of one call. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call whose answers come as long as it lasts; they are read as fast as they are asked for. */
export interface RawStream extends AsyncIterable<Buffer> {
  write(message: Buffer): void;
  cancel(): void;
}

export interface EtcdTls {
  /** PEM; absent = the system's roots. */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

interface ChannelOptions {
  /** `http://host:port`, `https://host:port` or `host:port`. */
  readonly endpoint: string;
  readonly tls?: EtcdTls | undefined;
  /** The connection is probed this often, and given up after half as long without an answer. */
  readonly keepAliveMs: number;
  /** Holds what cancels the calls that have no answer yet. */
  readonly running: Set<() => void>;
}

/** Large answers come in one go: with 64 KiB each piece would wait for a round trip. */
const windowBytes = 8 * 2 ** 20;
/** Answers that are still being read may hold as much; what is asked for bounds them. */
const unbounded = Number.MAX_SAFE_INTEGER;

/**
 * gRPC over one HTTP/2 connection to one member, in bytes. A general client spends more on a call
 * than everything around it: the layers that pick connections, retry, compress and intercept, of
 * which nothing is needed here. A connection that is lost is not made again; its owner takes
 * another channel.
 */
export class Channel {
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #running: Set<() => void>;
  /** Settles when the member has spoken, or never will. */
  readonly #greeting: Promise<void>;
  #connected = false;
  /** Calls that have not ended. */
  #calls = 0;
  /** Why there is no connection. */
  #last = "no answer yet";

  constructor({ endpoint, tls = {}, keepAliveMs, running }: ChannelOptions) {
    this.#running = running;
    const url = urlOf(endpoint, tls);
    this.#socket = socketTo(url, tls);
    this.#session = connect(url, {
      createConnection: () => this.#socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
      maxSessionMemory: unbounded,
    });
    this.#session.on("connect", () => this.#session.setLocalWindowSize(windowBytes));
    this.#greeting = new Promise((resolve) => {
      this.#session.on("remoteSettings", () => {
        this.#connected = true;
        resolve();
      });
      this.#socket.on("close", () => resolve());
    });
    this.#session.on("error", (error) => (this.#last = String(error)));
    // The session tells of a certificate that is refused only when all it wrote has been read.
    this.#socket.on("error", (error) => {
      this.#last = String(error);
      this.#socket.destroy();
    });
    this.#session.on("goaway", () => (this.#last = "the member is going away"));
    this.#probe(keepAliveMs);
  }

  /** Rejects with a GrpcFault for every other status than OK. */
  call(path: string, message: Buffer, options: CallOptions): Promise<Buffer> {
    if (this.#connected) return this.#send(path, message, options);
    // So a member that takes connections but says nothing certainly has not got the call.
    return this.#greeted(options.timeoutMs).then(() => this.#send(path, message, options));
  }

  #send(path: string, message: Buffer, { timeoutMs, signal }: CallOptions): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stream = this.#open(path);
      const answer = this.#read(stream);
      const chunks: Buffer[] = [];
      const giveUp = (fault: GrpcError): void => {
        reject(fault);
        stream.close(constants.NGHTTP2_CANCEL);
      };
      const cancel = (): void => giveUp(cancelled());
      const timer = setTimeout(() => giveUp(late(timeoutMs)), timeoutMs);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#running.add(cancel);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("close", () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        this.#running.delete(cancel);
        try {
          answer.check();
          resolve(onlyMessage(chunks));
        } catch (error) {
          reject(error);
        }
      });
      stream.end(frameOf(message));
    });
  }

  /** Failures come out of the iteration. */
  stream(path: string): RawStream {
    const stream = this.#open(path);
    const answer = this.#read(stream);
    return {
      write: (message) => void stream.write(frameOf(message)),
      cancel: () => stream.close(constants.NGHTTP2_CANCEL),
      [Symbol.asyncIterator]: () => messagesOf(stream, answer),
    };
  }

  /** Calls that run go on to their end, unless they wait for a connection. */
  close(): void {
    if (this.#connected) this.#session.close();
    else this.#socket.destroy();
  }

  /** @throws GrpcFault of a call that certainly was not made */
  #open(path: string): ClientHttp2Stream {
    try {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
        // A member that has lost its leader says so at once instead of holding the call.
        hasleader: "true",
      });
      this.#calls += 1;
      stream.on("close", () => (this.#calls -= 1));
      return stream;
    } catch {
      throw this.#unconnected();
    }
  }

  #read(stream: ClientHttp2Stream): Answer {
    return new Answer(stream, (error) => this.#dropped(stream, error));
  }

  /** What it means that a call has ended without a status. */
  #dropped(stream: ClientHttp2Stream, error: Error | undefined): GrpcError {
    if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return this.#unconnected();
    return new GrpcError(grpcStatus.unavailable, `Connection dropped: ${error ?? this.#last}`);
  }

  #unconnected(): GrpcError {
    const text = `No connection established. Last error: ${this.#last}`;
    return new GrpcError(grpcStatus.unavailable, text);
  }

  async #greeted(timeoutMs: number): Promise<void> {
    const patience = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([this.#greeting, late]);
    patience.abort();
    if (!this.#connected) throw this.#unconnected();
  }

  /**
   * Detects an unresponsive member with keepalive pings, sent only during calls: etcd closes the
   * connection of a client that pings without an active call.
   */
  #probe(keepAliveMs: number): void {
    const session = this.#session;
    const giveUp = (): void => {
      this.#last = "no answer to a ping";
      // The session itself would first wait for what it has written to be read.
      this.#socket.destroy();
    };
    let patience: NodeJS.Timeout | undefined;
    const timer = setInterval(() => {
      if (!this.#connected || this.#calls === 0 || patience !== undefined) return;
      patience = setTimeout(giveUp, keepAliveMs / 2);
      session.ping(() => {
        clearTimeout(patience);
        patience = undefined;
      });
    }, keepAliveMs);
    timer.unref();
    session.on("close", () => {
      clearInterval(timer);
      clearTimeout(patience);
    });
  }
}

function late(timeoutMs: number): GrpcError {
  const text = `Deadline exceeded after ${Math.round(timeoutMs)} ms`;
  return new GrpcError(grpcStatus.deadlineExceeded, text);
}

function cancelled(): GrpcError {
  return new GrpcError(grpcStatus.cancelled, "Cancelled on client");
}

function urlOf(endpoint: string, tls: EtcdTls): URL {
  if (/^https?:\/\//.test(endpoint)) return new URL(endpoint);
  return new URL(`${Object.keys(tls).length > 0 ? "https" : "http"}://${endpoint}`);
}

function socketTo({ protocol, hostname, port }: URL, tls: EtcdTls): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "http:") return connectSocket({ host, port: Number(port || 80) });
  const servername = isIP(host) === 0 ? host : "";
  const where = { host, port: Number(port || 443), servername };
  const { ca, ...own } = tls;
  const trust = trustServers(ca?.toString("utf8"));
  return connectTls({ ...where, ALPNProtocols: ["h2"], ...own, ...trust });
}

type Headers = Readonly<Record<string, string | readonly string[] | number | undefined>>;

/** Headers, trailers and status of a call, without its messages. */
class Answer {
  #headers: Headers | undefined;
  #trailers: Headers | undefined;
  #error: Error | undefined;
  readonly #dropped: (error: Error | undefined) => GrpcError;

  /** `dropped` tells what it means that there is no status. */
  constructor(stream: ClientHttp2Stream, dropped: (error: Error | undefined) => GrpcError) {
    this.#dropped = dropped;
    stream.on("response", (headers) => (this.#headers = headers));
    stream.on("trailers", (headers) => (this.#trailers = headers));
    stream.on("error", (error) => (this.#error = error));
  }

  /** Throws for every other status than OK. An answer that fails at once has headers only. */
  check(): void {
    const { "grpc-status": code, "grpc-message": details } = this.#trailers ?? this.#headers ?? {};
    if (code === "0") return;
    if (code === undefined) throw this.#dropped(this.#error);
    throw new GrpcError(Number(code), plain(String(details ?? "")));
  }
}

/** Details are percent-encoded. */
function plain(details: string): string {
  try {
    return decodeURIComponent(details);
  } catch {
    return details;
  }
}

async function* messagesOf(
  stream: ClientHttp2Stream,
  answer: Answer,
): AsyncGenerator<Buffer, void, undefined> {
  const frames = new Frames();
  try {
    for await (const chunk of stream) yield* frames.take(chunk as Buffer);
  } catch (error) {
    answer.check();
    throw error;
  }
  answer.check();
}
