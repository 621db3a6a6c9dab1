/** Every bound of the HTTP layer. Sizes in bytes, times in milliseconds. */
export interface Limits {
  readonly bodyBytes: number;
  /** All headers of a request together; the request target counts. */
  readonly headerBytes: number;
  /** Until all headers of an HTTP/1.1 request are there. */
  readonly headersTimeout: number;
  /** Until the whole body is there, from its first wait on. */
  readonly bodyTimeout: number;
  /** For which a request keeps its seats while its body arrives. */
  readonly bodySeatTime: number;
  /** Longest time for a request that is no watch; clients may ask for less with `?timeout=`. */
  readonly requestTimeout: number;
  /** A watch whose client takes nothing for so long is ended. */
  readonly watchPatience: number;
  /** A connection without any request is closed. */
  readonly idleTimeout: number;
  readonly handshakeTimeout: number;
  readonly streamsPerConnection: number;
  /** Requests at work that only read, and that write; above that 429. */
  readonly readsInFlight: number;
  readonly writesInFlight: number;
  /**
   * Memory for all request bodies that are arriving, a quarter of it per user; above that 429. Such
   * requests count as no writes at work.
   */
  readonly bodyBufferBytes: number;
  /** Watches and other long-running requests. */
  readonly watches: number;
  /** Value of Retry-After in 429 responses, in seconds. */
  readonly retryAfterSeconds: number;
  /** Memory in bytes for all large responses in flight; above it requests are rejected with 429. */
  readonly responseBufferBytes: number;
  /** Encoded objects and events that are kept to be sent again. */
  readonly keptBytes: number;
  /** What lists have joined of such objects, and keep to send it again. */
  readonly listChunkCacheBytes: number;
  /** Responses above this are compressed for clients that take gzip. */
  readonly gzipThreshold: number;
}

export const defaultLimits: Limits = {
  bodyBytes: 3 * 1024 * 1024,
  headerBytes: 64 * 1024,
  headersTimeout: 32_000,
  bodyTimeout: 60_000,
  bodySeatTime: 5_000,
  requestTimeout: 60_000,
  watchPatience: 30_000,
  idleTimeout: 180_000,
  handshakeTimeout: 10_000,
  streamsPerConnection: 1000,
  readsInFlight: 400,
  writesInFlight: 200,
  bodyBufferBytes: 256 * 1024 * 1024,
  watches: 20_000,
  retryAfterSeconds: 1,
  responseBufferBytes: 256 * 1024 * 1024,
  keptBytes: 64 * 1024 * 1024,
  listChunkCacheBytes: 32 * 1024 * 1024,
  gzipThreshold: 128 * 1024,
};
