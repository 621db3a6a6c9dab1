import type { Readable } from "node:stream";
import type { ApiObject } from "#client";
import type { User } from "#request";

/** The fields of an APIService that the aggregator uses. */
export interface ApiService extends ApiObject {
  readonly spec: {
    /** "" or absent for the core group. */
    readonly group?: string;
    readonly version?: string;
    /** Absent if this server serves the group version. */
    readonly service?: ServiceReference;
    /** CA bundle, base64 of PEM; absent = the system's trust store. */
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
  /** Absent = 443. */
  readonly port?: number;
}

/** A request to the server behind an APIService. */
export interface BackendRequest {
  readonly method: string;
  /** Path and query, sent unchanged. */
  readonly path: string;
  /**
   * By lower-case name. Credentials, `X-Remote-*` and hop-by-hop headers are dropped: the transport
   * adds those of `user`.
   */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Whether X-Forwarded-Host names the address of the server, as in requests that are proxied. */
  readonly namesBackend?: boolean;
  /** Absent = the request has no body. */
  readonly body?: Readable | Uint8Array | undefined;
  /** User of the request, passed in `X-Remote-User`, `-Uid`, `-Group` and `-Extra-*`. */
  readonly user: User;
  /** Aborts the request and the body of its response. */
  readonly signal: AbortSignal;
  /** Timeout in ms, response body included; absent = none, as for watches. */
  readonly timeoutMs?: number | undefined;
}

/** Head of a response; the body is streamed with backpressure. */
export interface BackendResponse {
  /** Host and port of the server, by the API. */
  readonly authority: string;
  readonly status: number;
  /** By lower-case name, without hop-by-hop headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Must be read to its end or destroyed. Errors are a BackendError or the signal's reason. */
  readonly body: Readable;
}

/**
 * Sends requests to the servers behind APIServices over pooled TLS connections. Redirects are not
 * followed, and the availability of the APIService is not checked.
 */
export interface BackendTransport {
  /** @throws BackendError, or the reason of the request's signal */
  readonly send: (apiService: ApiService, request: BackendRequest) => Promise<BackendResponse>;
}

/** Reason for a missing or incomplete response. */
export type BackendFailure =
  /** The Service does not exist, lacks the port or a ready endpoint, or has an unsupported type. */
  | "unresolved"
  /** Dialing, the TLS handshake or certificate verification failed, or the connection broke. */
  | "unreachable"
  /** The request exceeded its `timeoutMs`. */
  | "timeout";

/** A failed request to the server behind an APIService; the message is that of Go's net/http. */
export class BackendError extends Error {
  override readonly name = "BackendError";

  constructor(
    readonly failure: BackendFailure,
    message: string,
    /** The request was not sent, or the server reported that it did not process it: safe to retry. */
    readonly isUnprocessed = false,
  ) {
    super(message);
  }
}
