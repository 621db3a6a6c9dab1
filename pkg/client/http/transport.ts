/** Requests on their way to a server, whatever carries them. */
export interface HttpRequest {
  readonly method: string;
  /** With the query: `/api/v1/namespaces?limit=1`. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** Its answer goes on for long, as that of a watch does. */
  readonly longRunning?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  /** "" for a header that is not there; the name in lower case. */
  readonly header: (name: string) => string;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Resolves with the head of the answer. Throws a ConnectionError, or why the signal aborted. */
export type RoundTrip = (request: HttpRequest) => Promise<HttpResponse>;

/** A request that got no answer. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  constructor(
    message: string,
    /** It never reached the server, or the server says that it did nothing about it. */
    readonly untouched: boolean,
  ) {
    super(message);
  }
}
