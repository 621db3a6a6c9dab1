import { connect as connectSocket, isIP, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { trustServers } from "#base";
import { GrpcError, grpcStatus, unconnected } from "./failures.ts";
import { frameOf, Frames, onlyMessage } from "./frames.ts";
import { encodeHeaders, type Headers } from "./hpack.ts";
import {
  type ClientStream,
  Http2Connection,
  type StreamEnd,
  type StreamObserver,
} from "./http2-connection.ts";

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

/** A call without an answer; emptied at its end, as a Set may keep it for long (`ClientStream.release`). */
export interface RunningCall {
  cancel: (() => void) | undefined;
}

interface ChannelOptions {
  /** `http://host:port`, `https://host:port` or `host:port`. */
  readonly endpoint: string;
  readonly tls?: EtcdTls | undefined;
  /** The connection is probed this often, and given up after half as long without an answer. */
  readonly keepAliveMs: number;
  /** Holds the calls that have no answer yet. */
  readonly running: Set<RunningCall>;
}

/** Large answers come in one go: with 64 KiB each piece would wait for a round trip. */
const windowBytes = 8 * 2 ** 20;

/**
 * gRPC over one HTTP/2 connection to one member, in bytes. A general client spends more on a call
 * than everything around it: the layers that pick connections, retry, compress and intercept, of
 * which nothing is needed here. A connection that is lost is not made again; its owner takes
 * another channel.
 */
export class Channel {
  readonly #socket: Socket;
  readonly #connection: Http2Connection;
  readonly #running: Set<RunningCall>;
  /** Settles when the member has spoken, or never will. */
  readonly #greeting: Promise<void>;
  /** Encoded headers of the requests to each path. */
  readonly #heads = new Map<string, Buffer>();
  readonly #url: URL;
  #connected = false;
  /** Why there is no connection: the first reason that was given. */
  #last: string | undefined;

  constructor({ endpoint, tls = {}, keepAliveMs, running }: ChannelOptions) {
    this.#running = running;
    this.#url = urlOf(endpoint, tls);
    this.#socket = socketTo(this.#url, tls);
    let greeted = (): void => undefined;
    this.#greeting = new Promise((resolve) => (greeted = resolve));
    this.#socket.on("error", (error) => (this.#last ??= String(error)));
    this.#connection = new Http2Connection(this.#socket, {
      windowBytes,
      onSettings: () => {
        this.#connected = true;
        greeted();
      },
      onLeave: (reason) => (this.#last ??= reason),
    });
    this.#socket.on("close", greeted);
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
      const chunks: Buffer[] = [];
      const status = new CallStatus();
      const giveUp = (fault: GrpcError): void => {
        reject(fault);
        stream.cancel();
      };
      const cancel = (): void => giveUp(cancelled());
      const running: RunningCall = { cancel };
      const stream = this.#open(path, {
        headers: (headers) => status.add(headers),
        data: (bytes) => {
          chunks.push(bytes);
          stream.consumed(bytes.length);
        },
        closed: (end) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", cancel);
          this.#running.delete(running);
          running.cancel = undefined;
          try {
            this.#check(status, end);
            resolve(onlyMessage(chunks));
          } catch (error) {
            reject(error);
          }
        },
      });
      const timer = setTimeout(() => giveUp(late(timeoutMs)), timeoutMs);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#running.add(running);
      stream.send(frameOf(message), true);
    });
  }

  /** Failures come out of the iteration. */
  stream(path: string): RawStream {
    const status = new CallStatus();
    const incoming = new Incoming();
    const stream = this.#open(path, {
      headers: (headers) => status.add(headers),
      data: (bytes) => incoming.push(bytes),
      closed: (end) => incoming.end(end),
    });
    return {
      write: (message) => stream.send(frameOf(message), false),
      cancel: () => stream.cancel(),
      [Symbol.asyncIterator]: () => messagesOf(stream, incoming, (end) => this.#check(status, end)),
    };
  }

  /** Calls that run go on to their end, unless they wait for a connection. */
  close(): void {
    if (this.#connected) this.#connection.close();
    else this.#socket.destroy();
  }

  /** @throws GrpcFault of a call that certainly was not made */
  #open(path: string, observer: StreamObserver): ClientStream {
    if (!this.#connection.isOpen) throw unconnected(this.#last);
    return this.#connection.open(this.#headOf(path), observer);
  }

  #headOf(path: string): Buffer {
    let head = this.#heads.get(path);
    if (head === undefined) {
      head = encodeHeaders([
        [":method", "POST"],
        [":scheme", this.#url.protocol.slice(0, -1)],
        [":authority", this.#url.host],
        [":path", path],
        ["content-type", "application/grpc"],
        ["te", "trailers"],
        // A member that has lost its leader says so at once instead of holding the call.
        ["hasleader", "true"],
      ]);
      this.#heads.set(path, head);
    }
    return head;
  }

  /** Throws what it means that a call has ended so, unless its status is OK. */
  #check(status: CallStatus, end: StreamEnd): void {
    if (status.isKnown) return status.check();
    if (end === "refused") throw unconnected(this.#last);
    const reason = this.#connection.isOpen ? "the stream ended without a status" : this.#last;
    throw new GrpcError(grpcStatus.unavailable, `Connection dropped: ${reason}`);
  }

  async #greeted(timeoutMs: number): Promise<void> {
    const patience = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([this.#greeting, late]);
    patience.abort();
    if (!this.#connected) throw unconnected(this.#last);
  }

  /**
   * Detects an unresponsive member with keepalive pings, sent only during calls: etcd closes the
   * connection of a client that pings without an active call.
   */
  #probe(keepAliveMs: number): void {
    const giveUp = (): void => {
      this.#last ??= "no answer to a ping";
      this.#socket.destroy();
    };
    let patience: NodeJS.Timeout | undefined;
    const timer = setInterval(() => {
      if (!this.#connected || this.#connection.size === 0 || patience !== undefined) return;
      patience = setTimeout(giveUp, keepAliveMs / 2);
      this.#connection.ping(() => {
        clearTimeout(patience);
        patience = undefined;
      });
    }, keepAliveMs);
    timer.unref();
    this.#socket.on("close", () => {
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

/** The status of a call: of its trailers, or of its only headers. */
class CallStatus {
  #headers: Headers | undefined;

  add(headers: Headers): void {
    this.#headers = headers;
  }

  get isKnown(): boolean {
    return this.#headers?.has("grpc-status") === true;
  }

  /** Throws for every other status than OK. */
  check(): void {
    const code = this.#headers?.get("grpc-status");
    if (code === "0") return;
    throw new GrpcError(Number(code), plain(this.#headers?.get("grpc-message") ?? ""));
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

/** What has arrived of a stream and was not read yet. */
class Incoming {
  #chunks: Buffer[] = [];
  #end: StreamEnd | undefined;
  #wake: (() => void) | undefined;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  end(end: StreamEnd): void {
    this.#end = end;
    this.#wake?.();
  }

  /** The chunks that are there, or how the stream ended when all were taken. */
  async take(): Promise<readonly Buffer[] | StreamEnd> {
    while (this.#chunks.length === 0) {
      if (this.#end !== undefined) return this.#end;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }
}

async function* messagesOf(
  stream: ClientStream,
  incoming: Incoming,
  check: (end: StreamEnd) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const frames = new Frames();
  for (;;) {
    const chunks = await incoming.take();
    if (typeof chunks === "string") return check(chunks);
    for (const chunk of chunks) {
      stream.consumed(chunk.length);
      yield* frames.take(chunk);
    }
  }
}
