import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { PeerCertificate } from "#request";
import { type BodyObserver, ClientGone, type Exchange, type ResponseStream } from "./exchange.ts";
import { bodyTooLarge } from "../response/failures.ts";
import { gather, Life, valuesBelow, valuesOf } from "./incoming-request.ts";

/** The headers of a request, as Node parses and as it received them. */
interface RequestHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[];
}

interface HttpExchangeOptions {
  readonly auditId: string;
  readonly method: string;
  readonly url: string;
  /** Time limit for the request body, in milliseconds. */
  readonly bodyTimeout: number;
}

/** What exchanges over HTTP/1.1 and HTTP/2 share: headers, lifetime and body of the request. */
export abstract class HttpExchange implements Exchange {
  readonly auditId: string;
  readonly method: string;
  readonly url: string;
  readonly authorization: readonly string[];
  abstract readonly response: ResponseStream;
  bodyObserver: BodyObserver | undefined;
  protected isBodyRead = false;
  private readonly life = new Life();
  private readonly bodyTimeout: number;

  constructor(
    private readonly message: RequestHeaders,
    { auditId, method, url, bodyTimeout }: HttpExchangeOptions,
  ) {
    this.auditId = auditId;
    this.method = method;
    this.url = url;
    this.bodyTimeout = bodyTimeout;
    this.authorization = valuesOf(message.rawHeaders, "authorization");
  }

  abstract get certificate(): PeerCertificate | undefined;
  abstract get remoteAddress(): string | undefined;

  /** The stream of the request body. */
  protected abstract readonly incoming: Readable;
  /** Length of the body in bytes if it is read by exact sizes; see `gather`. */
  protected abstract get exactBytes(): number | undefined;

  get signal(): AbortSignal {
    return this.life.signal;
  }

  get reason(): Error | undefined {
    return this.life.reason;
  }

  get rawHeaders(): readonly string[] {
    return this.message.rawHeaders;
  }

  header(name: string): string | undefined {
    const value = this.message.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  headersBelow(prefix: string): ReadonlyMap<string, readonly string[]> {
    return valuesBelow(this.message.rawHeaders, prefix);
  }

  abort(reason: Error): void {
    this.life.abort(reason);
  }

  stream(): Readable {
    this.isBodyRead = true;
    return this.incoming;
  }

  body(limit: number): Promise<Uint8Array> {
    this.isBodyRead = true;
    const { bodyTimeout: milliseconds, bodyObserver: observer, exactBytes, incoming, life } = this;
    if ((exactBytes ?? this.contentLength ?? 0) > limit) {
      incoming.resume();
      return Promise.reject(bodyTooLarge(limit));
    }
    return gather(incoming, { limit, milliseconds, life, observer, announced: exactBytes });
  }

  /** Content-Length; undefined if the client sent none. */
  protected get contentLength(): number | undefined {
    const length = this.header("content-length");
    return length === undefined ? undefined : Number(length);
  }

  /** Aborts the request because the client has disconnected. */
  protected leave(): void {
    this.life.abort(new ClientGone("the client disconnected"));
  }
}
