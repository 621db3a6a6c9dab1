import type { IncomingMessage } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { Awaitable } from "#base";
import type { PeerCertificate } from "#request";

/**
 * One request and its response, over HTTP/2, HTTP/1.1 or in process.
 */
export interface Exchange {
  /** `Audit-Id` of the request. */
  readonly auditId: string;
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  /** A header by its lower-case name; several are joined with ", ". */
  header(name: string): string | undefined;
  /** The values, as sent, of all headers with a prefix, by lower-case name. */
  headersBelow(prefix: string): ReadonlyMap<string, readonly string[]>;
  readonly authorization: readonly string[];
  readonly certificate: PeerCertificate | undefined;
  /** Aborts when the client disconnects, or with the reason given to `abort`. */
  readonly signal: AbortSignal;
  /** The abort reason; undefined if not aborted. Does not create the signal. */
  readonly reason: Error | undefined;
  abort(reason: Error): void;
  /**
   * The complete body.
   * @throws StatusError 413 above `limit` bytes.
   */
  body(limit: number): Promise<Uint8Array>;
  /** Observes how the request body arrives. */
  bodyObserver?: BodyObserver | undefined;
  /** Address of the other end of the connection; absent for a call inside the process. */
  readonly remoteAddress?: string | undefined;
  readonly response: ResponseStream;
  /** Alternating names and values, as sent; absent for a call inside the process. */
  readonly rawHeaders?: readonly string[];
  /** The body as a stream, for proxying; absent for a call inside the process. */
  stream?(): Readable;
  /** Present if the client requests a protocol upgrade of its connection. */
  readonly upgrade?: Upgrade | undefined;
}

/** Observes how a request body arrives; an exception that it throws ends the request. */
export interface BodyObserver {
  waiting(): void;
  received(bytes: number): void;
  /** The body is complete; a returned promise delays its delivery to the reader. */
  arrived(): Awaitable<void>;
  /** Reading has ended, whether the body is complete or not. */
  ended(): void;
}

/** A connection whose client requests a protocol upgrade; HTTP/1.1 only. */
export interface Upgrade {
  readonly request: IncomingMessage;
  /** The connection; after an upgrade, responses bypass the exchange. */
  readonly socket: Duplex;
  /** Bytes that the client sent after the request head. */
  readonly head: Uint8Array;
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>;

/**
 * The stream of a response. Writes after `end` or `destroy`, or after the client has disconnected, are
 * dropped.
 */
export interface ResponseStream {
  readonly started: boolean;
  /** Status code of the response; undefined until it has started. */
  readonly status: number | undefined;
  /** The response was ended or destroyed, or the client has disconnected. */
  readonly closed: boolean;
  /** Number of body bytes written so far. */
  readonly sent: number;
  /** Observes everything that is sent after it is set. */
  observer: ResponseObserver | undefined;
  /** Adds a header to any response; one of the same name passed to `start` overrides it. */
  addHeader(name: string, value: string): void;
  /** Sets status and headers, which are sent with the first bytes; a second call does nothing. */
  start(status: number, headers: ResponseHeaders): void;
  /** The connection was upgraded to another protocol, outside of this response. */
  handOver(status: number): void;
  readonly handedOver: boolean;
  /** Sends the headers immediately, for streams whose first event may be late. */
  flush(): void;
  /**
   * Sends chunks together. If the client is too slow, returns a promise that resolves when the stream
   * accepts more. `free` is called when the memory of the chunks can be reused, if ever.
   */
  write(chunks: readonly Uint8Array[], free?: () => void): Promise<void> | undefined;
  end(chunk?: Uint8Array): void;
  /** Aborts a partially sent response, so that the client sees that it is incomplete. */
  destroy(): void;
}

export interface ResponseObserver {
  started(status: number, headers: ResponseHeaders): void;
  /** The chunk must not be retained: its memory may be reused after the call. */
  wrote(chunk: Uint8Array): void;
}

/** Abort reason: the client has disconnected. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** Whether requests of the method have no body and change nothing. */
export function onlyReads(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
