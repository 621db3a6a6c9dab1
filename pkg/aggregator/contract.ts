import type { Readable } from "node:stream";
import type { ApiObject } from "#client";
import type { User } from "#request";

/** APIService, as much of it as the aggregator reads. */
export interface ApiService extends ApiObject {
  readonly spec: {
    /** "" or absent = core. */
    readonly group?: string;
    readonly version?: string;
    /** Absent = this server serves the group version itself. */
    readonly service?: ServiceReference;
    /** Base64 of PEM; absent = the authorities that the system trusts. */
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
    readonly groupPriorityMinimum: number;
    readonly versionPriority: number;
  };
  readonly status?: { readonly conditions?: readonly ApiServiceCondition[] };
}

export interface ApiServiceCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  /** Default 443. */
  readonly port?: number;
}

/** A request to the server behind an APIService. */
export interface BackendRequest {
  readonly method: string;
  /** Path and query as they are sent. */
  readonly path: string;
  /**
   * By lower-case name. Credentials, `X-Remote-*` and hop-by-hop headers are dropped: the transport
   * adds those of `user`.
   */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Absent = the request has no body. */
  readonly body?: Readable | Uint8Array | undefined;
  /** User of the request, passed in `X-Remote-User`, `-Uid`, `-Group` and `-Extra-*`. */
  readonly user: User;
  /** Aborts the request, and the body of its response. */
  readonly signal: AbortSignal;
  /** Time until the body of the response has ended, in ms; absent = unlimited, as for watches. */
  readonly timeoutMs?: number | undefined;
}

/** Head of a response; the body arrives as fast as it is read. */
export interface BackendResponse {
  readonly status: number;
  /** By lower-case name, without hop-by-hop headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Must be read to its end or destroyed. It fails with a BackendError, or the signal's reason. */
  readonly body: Readable;
}

/**
 * Sends requests to the servers behind APIServices over pooled TLS connections. Redirects are
 * returned, not followed. Whether the APIService is available is not checked.
 */
export interface BackendTransport {
  /** @throws BackendError, or the reason of the request's signal */
  readonly send: (apiService: ApiService, request: BackendRequest) => Promise<BackendResponse>;
}

/** Why a server behind an APIService gave no response, or not a whole one. */
export type BackendFailure =
  /** The Service does not exist, lacks the port or a ready endpoint, or is of an unusable type. */
  | "unresolved"
  /** No connection, no TLS session with a trusted certificate, or a broken exchange. */
  | "unreachable"
  /** The request exceeded its `timeoutMs`. */
  | "timeout";

/** A failed request to the server behind an APIService; the message is worded as Go words it. */
export class BackendError extends Error {
  override readonly name = "BackendError";

  constructor(
    readonly failure: BackendFailure,
    message: string,
    /** The request was not sent, or the server says that it did not process it. */
    readonly untouched = false,
  ) {
    super(message);
  }
}
