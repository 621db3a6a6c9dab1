/** Limits of the HTTP server: sizes in bytes, times in milliseconds unless the name says otherwise. */
export interface Limits {
  /** Maximum size of a request body; a larger one is rejected with 413. */
  readonly bodyBytes: number;
  /** Maximum size of the request line and all headers of a request. */
  readonly headerBytes: number;
  /** Maximum time to receive the headers of an HTTP/1.1 request. */
  readonly headersTimeout: number;
  /** Maximum time to receive a request body, from the first wait for its data. */
  readonly bodyTimeout: number;
  /** Time for which a request holds its flow-control seats while its body is being received. */
  readonly bodySeatTime: number;
  /** Maximum duration of a request that is not long-running; `?timeout=` may shorten it. */
  readonly requestTimeout: number;
  /** A watch is closed when its client has read nothing for this time. */
  readonly watchStallTimeout: number;
  /** Time after which a connection without active requests is closed. */
  readonly idleTimeout: number;
  /** Maximum time of a TLS handshake. */
  readonly handshakeTimeout: number;
  /** Maximum number of concurrent HTTP/2 streams per connection. */
  readonly streamsPerConnection: number;
  /** Maximum number of concurrent read-only requests; above it requests are rejected with 429. */
  readonly readsInFlight: number;
  /** Maximum number of concurrent mutating requests; above it requests are rejected with 429. */
  readonly writesInFlight: number;
  /**
   * Memory for all request bodies that are being received, at most a quarter of it per user; above it
   * requests are rejected with 429. Until its body is complete, a request is not counted in
   * `writesInFlight`.
   */
  readonly bodyBufferBytes: number;
  /** Maximum number of watches and other long-running requests. */
  readonly watches: number;
  /** Value of Retry-After in 429 responses, in seconds. */
  readonly retryAfterSeconds: number;
  /** Memory for all large responses in flight; above it requests are rejected with 429. */
  readonly responseBufferBytes: number;
  /** Size of the cache of encoded objects and watch events. */
  readonly encodingCacheBytes: number;
  /** Size of the cache of list chunks, which are concatenations of encoded objects. */
  readonly listChunkCacheBytes: number;
  /** Larger responses are compressed for clients that accept gzip. */
  readonly gzipThreshold: number;
}

export const defaultLimits: Limits = {
  bodyBytes: 3 * 1024 * 1024,
  headerBytes: 64 * 1024,
  headersTimeout: 32_000,
  bodyTimeout: 60_000,
  bodySeatTime: 5_000,
  requestTimeout: 60_000,
  watchStallTimeout: 30_000,
  idleTimeout: 180_000,
  handshakeTimeout: 10_000,
  streamsPerConnection: 1000,
  readsInFlight: 400,
  writesInFlight: 200,
  bodyBufferBytes: 256 * 1024 * 1024,
  watches: 20_000,
  retryAfterSeconds: 1,
  responseBufferBytes: 256 * 1024 * 1024,
  encodingCacheBytes: 64 * 1024 * 1024,
  listChunkCacheBytes: 32 * 1024 * 1024,
  gzipThreshold: 128 * 1024,
};
