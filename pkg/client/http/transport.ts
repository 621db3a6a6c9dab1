/** Requests on their way to a server, whatever carries them. */
export interface Outgoing {
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

export interface Incoming {
  readonly status: number;
  /** "" for a header that is not there; the name in lower case. */
  readonly header: (name: string) => string;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Resolves with the head of the answer. Throws a ConnectionFault, or why the signal aborted. */
export type Send = (request: Outgoing) => Promise<Incoming>;

/** A request that got no answer. */
export class ConnectionFault extends Error {
  override readonly name = "ConnectionFault";
  constructor(
    message: string,
    /** It never reached the server, or the server says that it did nothing about it. */
    readonly untouched: boolean,
  ) {
    super(message);
  }
}
