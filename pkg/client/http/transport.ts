/** HTTP requests and responses, independent of the transport. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, such as `/api/v1/namespaces?limit=1`. */
  readonly path: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** Whether the response is long-running, as for watches. */
  readonly longRunning?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  /** Value of a header by lower-case name; "" if it is absent. */
  readonly header: (name: string) => string;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends a request; resolves with the response head. @throws ConnectionError, or the signal's reason */
export type RoundTrip = (request: HttpRequest) => Promise<HttpResponse>;

/** No response, or an incomplete one. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  constructor(
    message: string,
    /** The request was not sent, or the server reported that it did not process it: safe to retry. */
    readonly isUnprocessed: boolean,
  ) {
    super(message);
  }
}
