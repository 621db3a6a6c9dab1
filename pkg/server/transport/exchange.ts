import type { IncomingMessage } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { Awaitable } from "#base";
import type { PeerCertificate } from "#request";

/**
 * One request and the place for its response, whatever carries them: HTTP/2, HTTP/1.1 or a call
 * inside the process.
 */
export interface Exchange {
  /** `Audit-Id` of the request. */
  readonly auditId: string;
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  /** A header by its lower-case name; several are joined with ", ". */
  header(name: string): string | undefined;
  /** By lower-case name, each value as it was sent: the headers whose names begin so. */
  headersBelow(prefix: string): ReadonlyMap<string, readonly string[]>;
  readonly authorization: readonly string[];
  readonly certificate: PeerCertificate | undefined;
  /** Aborts when the client goes away, or with the reason given to `abort`. */
  readonly signal: AbortSignal;
  /** Why it has aborted; undefined while it has not. Cheaper than to ask the signal. */
  readonly reason: Error | undefined;
  abort(reason: Error): void;
  /**
   * The whole body.
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
  /** The body is complete; it is handed on when a promise that this returns resolves. */
  arrived(): Awaitable<void>;
  /** Nothing more is read, whether the body is complete or not. */
  ended(): void;
}

/** A connection whose client asks for another protocol; HTTP/1.1 only. */
export interface Upgrade {
  readonly request: IncomingMessage;
  /** The connection itself. What takes it over responds on it, and not through the exchange. */
  readonly socket: Duplex;
  /** What the client sent right behind its request. */
  readonly head: Uint8Array;
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>;

/**
 * Where a response goes. After `end` or `destroy`, and after the client has left, writes are
 * dropped.
 */
export interface ResponseStream {
  readonly started: boolean;
  /** Status code of the response; undefined until it has started. */
  readonly status: number | undefined;
  /** No more can be written: it was ended or cut off, or the client has left. */
  readonly closed: boolean;
  /** Number of body bytes written so far. */
  readonly sent: number;
  /** Observes everything that is sent from now on. */
  observer: ResponseObserver | undefined;
  /** Adds a header to the response, whatever its status; those that it starts with win. */
  addHeader(name: string, value: string): void;
  /** Sets status and headers, which leave with the first bytes; a second call does nothing. */
  start(status: number, headers: ResponseHeaders): void;
  /** The connection now speaks another protocol, outside of this response. */
  handOver(status: number): void;
  readonly handedOver: boolean;
  /** Sends the headers now, for streams whose first byte may be long in coming. */
  flush(): void;
  /**
   * Sends chunks together. Returns a promise when the client does not keep up; it resolves as soon
   * as there is room again. `free` is called if and when the memory of the chunks can be reused.
   */
  write(chunks: readonly Uint8Array[], free?: () => void): Promise<void> | undefined;
  end(chunk?: Uint8Array): void;
  /** Cuts a half-sent response off, so that the client sees that it is incomplete. */
  destroy(): void;
}

export interface ResponseObserver {
  started(status: number, headers: ResponseHeaders): void;
  /** The chunk must not be retained: its memory may be reused after the call. */
  wrote(chunk: Uint8Array): void;
}

/** The request ended early because the client has disconnected. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** Methods of requests that have no body and change nothing. */
export function onlyReads(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
