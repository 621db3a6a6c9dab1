import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Clock } from "#base";
import { DeadlineExceeded } from "../deadline.ts";

/** Interval of PINGs, and timeout of their acknowledgement. */
const pingIntervalMs = 30_000;
const pingTimeoutMs = 15_000;
/** Timeout of connecting. */
const connectTimeoutMs = 10_000;
/** Maximum number of concurrent streams per connection. */
const streamsPerConnection = 200;

interface StreamOptions {
  readonly signal: AbortSignal;
  readonly endStream: boolean;
  /** Whether the abort reason is a timeout of the server; default DeadlineExceeded. */
  readonly isTimeout?: (reason: unknown) => boolean;
}

function isDeadline(reason: unknown): boolean {
  return reason instanceof DeadlineExceeded;
}

/** A client's HTTP/2 connection: counts streams, and closes if a PING is not acknowledged. */
export class Http2Connection {
  private readonly life = new AbortController();
  private streams = 0;
  private isGoingAway = false;
  private isConnected = false;
  /** A request timed out: no new requests are sent until a PING is acknowledged. */
  private isUnverified = false;

  constructor(
    readonly session: ClientHttp2Session,
    private readonly clock: Clock,
  ) {
    session.once("connect", () => (this.isConnected = true));
    session.once("goaway", () => (this.isGoingAway = true));
    session.once("close", () => this.life.abort());
    // Requests report the error.
    session.on("error", () => undefined);
    void this.keepAlive();
  }

  /** Whether requests sent on it may have reached the server. */
  get connected(): boolean {
    return this.isConnected;
  }

  get hasRoom(): boolean {
    const { session, isGoingAway, streams, isUnverified } = this;
    const limit = session.remoteSettings?.maxConcurrentStreams ?? streamsPerConnection;
    const usable = !session.closed && !session.destroyed && !isGoingAway && !isUnverified;
    return usable && streams < Math.min(limit, streamsPerConnection);
  }

  /** Opens a stream; an abort of the signal resets it. */
  request(
    headers: OutgoingHttpHeaders,
    { signal, endStream, isTimeout = isDeadline }: StreamOptions,
  ): ClientHttp2Stream {
    const stream = this.session.request(headers, { endStream });
    this.streams += 1;
    const leave = () => {
      stream.close(constants.NGHTTP2_CANCEL);
      if (isTimeout(signal.reason)) this.markUnverified();
    };
    signal.addEventListener("abort", leave, { once: true });
    stream.once("close", () => {
      this.streams -= 1;
      signal.removeEventListener("abort", leave);
    });
    return stream;
  }

  private async keepAlive(): Promise<void> {
    const { session } = this;
    await this.pause(connectTimeoutMs);
    if (!this.isConnected) session.destroy(new Error("the server does not respond"));
    while (!session.destroyed) {
      await this.pause(pingIntervalMs);
      if (session.destroyed || session.closed) return;
      await this.probe();
    }
  }

  /** Sends a PING, and closes the connection if the peer does not acknowledge it in time. */
  private async probe(): Promise<void> {
    const { session } = this;
    let isSilent = true;
    session.ping((error) => {
      if (error !== null) return;
      isSilent = false;
      this.isUnverified = false;
    });
    await this.pause(pingTimeoutMs);
    if (isSilent && !session.destroyed)
      session.destroy(new Error("the server did not acknowledge a PING"));
  }

  private pause(ms: number): Promise<void> {
    const { signal } = this.life;
    return this.clock.sleep(ms, signal, { background: true }).catch(() => undefined);
  }

  private markUnverified(): void {
    if (this.isUnverified || this.session.destroyed) return;
    this.isUnverified = true;
    void this.probe();
  }
}
