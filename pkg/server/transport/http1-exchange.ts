import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { PeerCertificate } from "#request";
import {
  type ResponseHeaders,
  type BodyObserver,
  ClientGone,
  type Exchange,
  type ResponseStream,
  type Upgrade,
} from "./exchange.ts";
import { bodyTooLarge } from "../response/failures.ts";
import { certificateOf, gather, Life, valuesBelow, valuesOf } from "./incoming-request.ts";
import { CountingResponseStream, drained } from "./counting-response-stream.ts";

interface Http1ExchangeOptions {
  readonly auditId: string;
  readonly bodyTimeout: number;
  readonly common: Record<string, string>;
  readonly upgrade?: Upgrade | undefined;
}

/** An exchange over an HTTP/1.1 connection. */
export class Http1Exchange implements Exchange {
  readonly auditId: string;
  readonly method: string;
  readonly url: string;
  readonly authorization: readonly string[];
  readonly response: ResponseStream;
  bodyObserver: BodyObserver | undefined;
  private readonly life = new Life();
  private read = false;

  constructor(
    private readonly request: IncomingMessage,
    response: ServerResponse,
    private readonly options: Http1ExchangeOptions,
  ) {
    this.auditId = options.auditId;
    this.method = request.method ?? "GET";
    this.url = request.url ?? "/";
    this.authorization = valuesOf(request.rawHeaders, "authorization");
    this.response = new Http1ResponseStream(response, options.common);
    response.once("close", () => this.leave(response));
    request.once("error", () => this.leave(response));
    response.on("error", () => this.leave(response));
  }

  get signal(): AbortSignal {
    return this.life.signal;
  }

  get reason(): Error | undefined {
    return this.life.reason;
  }

  get certificate(): PeerCertificate | undefined {
    return certificateOf(this.request.socket as TLSSocket);
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  headersBelow(prefix: string): ReadonlyMap<string, readonly string[]> {
    return valuesBelow(this.request.rawHeaders, prefix);
  }

  abort(reason: Error): void {
    this.life.abort(reason);
  }

  get rawHeaders(): readonly string[] {
    return this.request.rawHeaders;
  }

  get remoteAddress(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  get upgrade(): Upgrade | undefined {
    return this.options.upgrade;
  }

  stream(): Readable {
    this.read = true;
    return this.request;
  }

  body(limit: number): Promise<Uint8Array> {
    this.read = true;
    if (Number(this.header("content-length") ?? 0) > limit) {
      this.request.resume();
      return Promise.reject(bodyTooLarge(limit));
    }
    const milliseconds = this.options.bodyTimeout;
    const { life, bodyObserver: observer } = this;
    return gather(this.request, { limit, milliseconds, life, observer });
  }

  /** Discards an unread request body, since its sender would otherwise block forever. */
  finish(): void {
    if (!this.read) this.request.resume();
  }

  private leave(response: ServerResponse): void {
    if (!response.writableEnded) this.life.abort(new ClientGone("the client disconnected"));
  }
}

class Http1ResponseStream extends CountingResponseStream {
  private ended = false;

  constructor(
    private readonly response: ServerResponse,
    protected readonly common: Record<string, string>,
  ) {
    super();
  }

  protected begin(status: number, headers: ResponseHeaders): void {
    if (this.closed) return;
    const { response } = this;
    response.statusCode = status;
    for (const [name, value] of Object.entries({ ...this.common, ...headers })) {
      response.setHeader(name, value as string | string[]);
    }
  }

  flush(): void {
    if (!this.closed) this.response.flushHeaders();
  }

  protected put(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    const { response } = this;
    let hasRoom = true;
    for (const chunk of chunks) hasRoom = response.write(chunk);
    return hasRoom ? undefined : drained(response);
  }

  protected finish(chunk?: Uint8Array): void {
    this.ended = true;
    const { response } = this;
    if (chunk === undefined || chunk.byteLength === 0) response.end();
    else response.end(chunk);
  }

  destroy(): void {
    if (this.closed) return;
    this.ended = true;
    this.response.destroy();
  }

  get closed(): boolean {
    return this.ended || this.response.destroyed || this.response.writableEnded;
  }
}
