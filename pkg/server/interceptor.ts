import type { RequestInfo, User } from "#request";

/** Delays or ends the events of a watch; throws a StatusError to fail it with an ERROR event. */
export type WatchFilter = <E>(events: AsyncIterableIterator<E>) => AsyncIterableIterator<E>;

/** An authenticated request before authorization. */
export interface InterceptedRequest {
  readonly info: RequestInfo;
  readonly user: User;
  /** Aborts when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal;
  /** A request header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Status code of the response; undefined until it has started. */
  readonly status: () => number | undefined;
}

/** Observes and fails requests of clients; for servers in tests. */
export interface RequestInterceptor {
  /**
   * Runs the request by calling `proceed` once.
   * @throws StatusError to respond with its status
   */
  intercept(
    request: InterceptedRequest,
    proceed: (filter?: WatchFilter) => Promise<void>,
  ): Promise<void>;
}
