import type {
  Http2Session,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Stream,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { memoize } from "#base";
import type { PeerCertificate } from "#request";
import type { ResponseHeaders, ResponseStream } from "./exchange.ts";
import { HttpExchange } from "./http-exchange.ts";
import { certificateOf } from "./incoming-request.ts";
import { CountingResponseStream, drained } from "./counting-response-stream.ts";

/** A request as Node's HTTP/2 core emits it. */
export interface Http2Request {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[];
}

interface Http2ExchangeOptions {
  readonly auditId: string;
  /** Time limit for the request body, in milliseconds. */
  readonly bodyTimeout: number;
  readonly common: Record<string, string>;
  /** Called when the stream is closed. */
  readonly onClose: () => void;
}

/** Memoized per session, because each access to `session.socket` creates a new proxy in Node. */
const sessionCertificate = memoize((session: Http2Session) =>
  certificateOf(session.socket as TLSSocket),
);

const sessionAddress = memoize((session: Http2Session) => session.socket.remoteAddress);

/** An exchange over a stream of an HTTP/2 connection. */
export class Http2Exchange extends HttpExchange {
  readonly response: ResponseStream;
  protected readonly incoming: ServerHttp2Stream;

  constructor(request: Http2Request, options: Http2ExchangeOptions) {
    const { headers, stream } = request;
    const { auditId, bodyTimeout, common, onClose } = options;
    const { ":method": method = "GET", ":path": url = "/" } = headers;
    super(request, { auditId, method, url, bodyTimeout });
    this.incoming = stream;
    const response = new Http2ResponseStream(stream, common);
    this.response = response;
    const leave = (): void => {
      if (!response.ended) this.leave();
    };
    const close = (): void => {
      leave();
      onClose();
      releaseListeners(stream, { error: leave, close });
    };
    stream.on("error", leave);
    stream.on("close", close);
  }

  get remoteAddress(): string | undefined {
    const { session } = this.incoming;
    return session === undefined ? undefined : sessionAddress(session);
  }

  get certificate(): PeerCertificate | undefined {
    const { session } = this.incoming;
    return session === undefined ? undefined : sessionCertificate(session);
  }

  protected get exactBytes(): number | undefined {
    return this.incoming.endAfterHeaders ? 0 : this.contentLength;
  }

  /**
   * Discards an unread request body, since its sender would otherwise block forever. Without a body
   * Node does so itself once the response has been sent; doing it earlier would close the stream
   * before the last write of the response, for which Node creates an error with a stack trace.
   */
  finish(): void {
    if (!this.isBodyRead && !this.incoming.endAfterHeaders) this.incoming.resume();
  }
}

/**
 * Detaches a closed stream from its exchange. Node keeps the open streams of a session in a Map, and V8's
 * scavenges keep what a replaced table of an old Map held, until the next mark-compact: every stream
 * would keep its headers, body and response until then.
 */
function releaseListeners(
  stream: ServerHttp2Stream,
  own: Record<"error" | "close", () => void>,
): void {
  stream.off("error", own.error);
  stream.off("close", own.close);
  stream.on("error", ignoreError);
}

const ignoreError = (): void => undefined;

type OutgoingHeaders = Record<string, string | number | readonly string[]>;

/** Whether `respond` takes arrays of headers; it copies objects, which costs 2 µs and 0.5 KB. */
const takesHeaderArrays = acceptsHeaderArrays(process.versions.node);

/** Node accepts them from 24.7 on. */
function acceptsHeaderArrays(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 7);
}

/** Alternating names and values. */
function headerArray(headers: OutgoingHeaders): OutgoingHeaders[string][] {
  const array: OutgoingHeaders[string][] = [];
  for (const name in headers) array.push(name, headers[name]!);
  return array;
}

/** Writes to the HTTP/2 stream; status and headers are sent with the first bytes. */
class Http2ResponseStream extends CountingResponseStream {
  ended = false;
  private headers: OutgoingHeaders | undefined;
  private hasResponded = false;

  constructor(
    private readonly stream: ServerHttp2Stream,
    protected readonly common: Record<string, string>,
  ) {
    super();
  }

  protected begin(status: number, headers: ResponseHeaders): void {
    this.headers = { ":status": status, ...this.common, ...headers };
  }

  flush(): void {
    if (!this.closed) this.respond(false);
  }

  protected put(chunks: readonly Uint8Array[], free?: () => void): Promise<void> | undefined {
    const { stream } = this;
    this.respond(false);
    const last = chunks.length - 1;
    let hasRoom = true;
    if (last > 0) stream.cork();
    for (const [index, chunk] of chunks.entries()) {
      hasRoom = stream.write(chunk, index === last ? whenSent(free) : undefined);
    }
    if (last > 0) stream.uncork();
    return hasRoom ? undefined : drained(stream);
  }

  protected finish(chunk?: Uint8Array): void {
    this.ended = true;
    const empty = chunk === undefined || chunk.byteLength === 0;
    this.respond(empty);
    // Without a callback: the stream is gone before it could be called, and Node makes an error of
    // that, with a stack, for every response.
    if (!empty) this.stream.end(chunk);
    else if (!this.stream.writableEnded) this.stream.end();
  }

  destroy(): void {
    if (this.closed) return;
    this.ended = true;
    // `close` would end the stream before it resets it, as if the response were complete.
    this.stream.destroy(new Error("the response is cut off"));
  }

  /** `endStream`: the response has no body. */
  private respond(endStream: boolean): void {
    if (this.hasResponded) return;
    this.hasResponded = true;
    const { stream, headers = { ":status": 200 } } = this;
    if (!takesHeaderArrays) {
      stream.respond(headers as OutgoingHttpHeaders, { endStream });
      return;
    }
    const array = headerArray(headers);
    stream.respond(array as unknown as OutgoingHttpHeaders, { endStream });
    // Node keeps the array as long as the stream: see `releaseListeners`.
    array.length = 0;
  }

  get closed(): boolean {
    return this.ended || this.stream.destroyed || this.stream.closed;
  }
}

/** After a failed write `free` is not called: Node may still read the chunk. */
function whenSent(free: (() => void) | undefined): ((error?: Error | null) => void) | undefined {
  if (free === undefined) return undefined;
  return (error) => {
    if (error === undefined || error === null) free();
  };
}
