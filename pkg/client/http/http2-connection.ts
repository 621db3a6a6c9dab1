import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Clock } from "#base";
import { DeadlineExceeded } from "../deadline.ts";

/** A connection that says nothing is asked whether it lives, and has so long to answer. */
const pingIntervalMs = 30_000;
const pingAnswerMs = 15_000;
/** A connection that is not there after so long is given up. */
const connectMs = 10_000;
/** More requests than that go on another connection. */
const streamsPerConnection = 200;

interface StreamOptions {
  readonly signal: AbortSignal;
  readonly endStream: boolean;
  /** Whether the signal has aborted because the server took too long. */
  readonly isLate?: (reason: unknown) => boolean;
}

function isDeadline(reason: unknown): boolean {
  return reason instanceof DeadlineExceeded;
}

/** One HTTP/2 connection of a client: counts its streams, and closes when the peer is silent. */
export class Http2Connection {
  private readonly life = new AbortController();
  private streams = 0;
  private leaving = false;
  private isConnected = false;
  /** A request was not answered in time: others go elsewhere until it is known to live. */
  private doubted = false;

  constructor(
    readonly session: ClientHttp2Session,
    private readonly clock: Clock,
  ) {
    session.once("connect", () => (this.isConnected = true));
    session.once("goaway", () => (this.leaving = true));
    session.once("close", () => this.life.abort());
    // Requests report it.
    session.on("error", () => undefined);
    void this.keepAlive();
  }

  /** Whether requests sent on it may have reached the server. */
  get connected(): boolean {
    return this.isConnected;
  }

  /** Number of requests under way. */
  get load(): number {
    return this.streams;
  }

  get hasRoom(): boolean {
    const { session, leaving, streams, doubted } = this;
    const most = session.remoteSettings?.maxConcurrentStreams ?? streamsPerConnection;
    const usable = !session.closed && !session.destroyed && !leaving && !doubted;
    return usable && streams < Math.min(most, streamsPerConnection);
  }

  /** Opens a stream, which the signal resets. */
  request(
    headers: OutgoingHttpHeaders,
    { signal, endStream, isLate = isDeadline }: StreamOptions,
  ): ClientHttp2Stream {
    const stream = this.session.request(headers, { endStream });
    this.streams += 1;
    const leave = () => {
      stream.close(constants.NGHTTP2_CANCEL);
      if (isLate(signal.reason)) this.doubt();
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
    await this.pause(connectMs);
    if (!this.isConnected) session.destroy(new Error("the server does not answer"));
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
      this.doubted = false;
    });
    await this.pause(pingAnswerMs);
    if (isSilent && !session.destroyed) session.destroy(new Error("the server is silent"));
  }

  private pause(ms: number): Promise<void> {
    const { signal } = this.life;
    return this.clock.sleep(ms, signal, { background: true }).catch(() => undefined);
  }

  private doubt(): void {
    if (this.doubted || this.session.destroyed) return;
    this.doubted = true;
    void this.probe();
  }
}
