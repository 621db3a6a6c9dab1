import { connect as connectSocket, isIP, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { trustServers } from "#base";
import { connectTls } from "#pki";
import { GrpcError, grpcStatus, unconnected } from "./failures.ts";
import { frameOf, Frames, onlyMessage } from "./frames.ts";
import { encodeHeaders, type Headers } from "./hpack.ts";
import {
  type ClientStream,
  Http2Connection,
  type StreamEnd,
  type StreamObserver,
} from "./http2-connection.ts";

/** Timeout and cancellation of a call. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A streaming call; iterating over its messages applies backpressure. */
export interface RawStream extends AsyncIterable<Buffer> {
  write(message: Buffer): void;
  cancel(): void;
}

export interface EtcdTls {
  /** CA bundle in PEM format; absent = the system's roots. */
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
  /** Interval of keepalive pings in ms; without a response for half of it, the connection is closed. */
  readonly keepAliveMs: number;
  /** Holds the calls that have no answer yet. */
  readonly running: Set<RunningCall>;
}

/** Flow-control window; with the default of 64 KiB a large response needs many round trips. */
const windowBytes = 8 * 2 ** 20;

/**
 * gRPC with encoded messages over one HTTP/2 connection to one member. It has no load balancing, retries,
 * compression and interceptors, which in a general client cost more CPU time per call than all the rest.
 * It does not reconnect: the EndpointPool opens another channel.
 */
export class Channel {
  readonly #socket: Socket;
  readonly #connection: Http2Connection;
  readonly #running: Set<RunningCall>;
  /** Resolves when the member has sent its settings or the connection has closed. */
  readonly #settingsReceived: Promise<void>;
  /** Encoded headers of the requests to each path. */
  readonly #encodedHeaders = new Map<string, Buffer>();
  readonly #url: URL;
  #connected = false;
  /** The first reason why there is no connection. */
  #last: string | undefined;

  constructor({ endpoint, tls = {}, keepAliveMs, running }: ChannelOptions) {
    this.#running = running;
    this.#url = urlOf(endpoint, tls);
    this.#socket = socketTo(this.#url, tls);
    let resolveSettings = (): void => undefined;
    this.#settingsReceived = new Promise((resolve) => (resolveSettings = resolve));
    this.#socket.on("error", (error) => (this.#last ??= String(error)));
    this.#connection = new Http2Connection(this.#socket, {
      windowBytes,
      onSettings: () => {
        this.#connected = true;
        resolveSettings();
      },
      onLeave: (reason) => (this.#last ??= reason),
    });
    this.#socket.on("close", resolveSettings);
    this.#probe(keepAliveMs);
  }

  /** Makes a unary call; rejects with a GrpcError for a status other than OK. */
  call(path: string, message: Buffer, options: CallOptions): Promise<Buffer> {
    if (this.#connected) return this.#send(path, message, options);
    // Calls wait for the settings, so that a silent member has certainly not received any call.
    return this.#waitForSettings(options.timeoutMs).then(() => this.#send(path, message, options));
  }

  #send(path: string, message: Buffer, { timeoutMs, signal }: CallOptions): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const chunks: Buffer[] = [];
      const status = new CallStatus();
      const fail = (fault: GrpcError): void => {
        reject(fault);
        stream.cancel();
      };
      const cancel = (): void => fail(cancelled());
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
      const timer = setTimeout(() => fail(late(timeoutMs)), timeoutMs);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#running.add(running);
      stream.send(frameOf(message), true);
    });
  }

  /** Starts a streaming call; the iteration throws its failure. */
  stream(path: string): RawStream {
    const status = new CallStatus();
    const received = new ReceiveBuffer();
    const stream = this.#open(path, {
      headers: (headers) => status.add(headers),
      data: (bytes) => received.push(bytes),
      closed: (end) => received.end(end),
    });
    return {
      write: (message) => stream.send(frameOf(message), false),
      cancel: () => stream.cancel(),
      [Symbol.asyncIterator]: () => messagesOf(stream, received, (end) => this.#check(status, end)),
    };
  }

  /** Closes the connection after the pending calls; fails those that wait for a connection. */
  close(): void {
    if (this.#connected) this.#connection.close();
    else this.#socket.destroy();
  }

  /** @throws GrpcError if the connection is closed, in which case the call was certainly not sent */
  #open(path: string, observer: StreamObserver): ClientStream {
    if (!this.#connection.isOpen) throw unconnected(this.#last);
    return this.#connection.open(this.#headersFor(path), observer);
  }

  #headersFor(path: string): Buffer {
    let encoded = this.#encodedHeaders.get(path);
    if (encoded === undefined) {
      encoded = encodeHeaders([
        [":method", "POST"],
        [":scheme", this.#url.protocol.slice(0, -1)],
        [":authority", this.#url.host],
        [":path", path],
        ["content-type", "application/grpc"],
        ["te", "trailers"],
        // A member without a leader rejects the call instead of delaying it.
        ["hasleader", "true"],
      ]);
      this.#encodedHeaders.set(path, encoded);
    }
    return encoded;
  }

  /** @throws GrpcError unless the call ended with status OK */
  #check(status: CallStatus, end: StreamEnd): void {
    if (status.isKnown) return status.check();
    if (end === "refused") throw unconnected(this.#last);
    const reason = this.#connection.isOpen ? status.missing : this.#last;
    throw new GrpcError(grpcStatus.unavailable, `Connection dropped: ${reason}`);
  }

  async #waitForSettings(timeoutMs: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([this.#settingsReceived, late]);
    timer.abort();
    if (!this.#connected) throw unconnected(this.#last);
  }

  /**
   * Detects an unresponsive member with keepalive pings, sent only during calls: etcd closes the
   * connection of a client that pings without an active call.
   */
  #probe(keepAliveMs: number): void {
    const fail = (): void => {
      this.#last ??= "keepalive ping timed out";
      this.#socket.destroy();
    };
    let timeout: NodeJS.Timeout | undefined;
    const timer = setInterval(() => {
      if (!this.#connected || this.#connection.size === 0 || timeout !== undefined) return;
      timeout = setTimeout(fail, keepAliveMs / 2);
      this.#connection.ping(() => {
        clearTimeout(timeout);
        timeout = undefined;
      });
    }, keepAliveMs);
    timer.unref();
    this.#socket.on("close", () => {
      clearInterval(timer);
      clearTimeout(timeout);
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
  const { ca, ...client } = tls;
  const trust = trustServers(ca?.toString("utf8"));
  return connectTls({ ...where, ALPNProtocols: ["h2"], ...client, ...trust });
}

/** The gRPC status of a call, from its trailers or a trailers-only response. */
class CallStatus {
  #headers: Headers | undefined;

  add(headers: Headers): void {
    this.#headers = headers;
  }

  get isKnown(): boolean {
    return this.#headers?.has("grpc-status") === true;
  }

  /** Why there is no gRPC status: a proxy answered, for example. */
  get missing(): string {
    const http = this.#headers?.get(":status") ?? "200";
    return http === "200" ? "the stream ended without a status" : `the HTTP status is ${http}`;
  }

  /** @throws GrpcError for a status other than OK */
  check(): void {
    const code = this.#headers?.get("grpc-status");
    if (code === "0") return;
    throw new GrpcError(
      Number(code),
      decodeStatusMessage(this.#headers?.get("grpc-message") ?? ""),
    );
  }
}

/** Decodes a percent-encoded status message. */
function decodeStatusMessage(details: string): string {
  try {
    return decodeURIComponent(details);
  } catch {
    return details;
  }
}

/** Received data of a stream that has not been read yet. */
class ReceiveBuffer {
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

  /** The received chunks, or after the last one how the stream ended. */
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
  received: ReceiveBuffer,
  check: (end: StreamEnd) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const frames = new Frames();
  for (;;) {
    const chunks = await received.take();
    if (typeof chunks === "string") return check(chunks);
    for (const chunk of chunks) {
      stream.consumed(chunk.length);
      yield* frames.take(chunk);
    }
  }
}
