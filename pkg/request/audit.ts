import type { Status } from "#meta";
import type { RequestInfo, User } from "./types.ts";

/** Attributes of a request for its audit events. */
export interface AuditedRequest {
  /** Audit-Id. */
  readonly id: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly info: RequestInfo;
  /** Undefined if authentication failed. */
  readonly user: User | undefined;
  readonly userAgent: string;
  /** Source IPs: the client's address, then those of proxies. */
  readonly sourceAddresses: readonly string[];
}

/** Audits requests. */
export interface Auditor {
  /** Starts the audit trail of a request; undefined when the policy omits it. */
  begin(request: AuditedRequest): AuditTrail | undefined;
}

/** The audit event, for request handlers. */
export interface RequestNotes {
  /** Adds an annotation; later values of the same key are ignored. */
  annotate(key: string, value: string): void;
  /** As `annotate`, for contents of objects: `value` is called only if the policy records bodies. */
  annotateContent(key: string, value: () => string): void;
  /** Records the decoded request object. */
  sent(body: SentBody): void;
  /** Records the response status if the response is a Status. */
  responseStatus(status: Status): void;
}

export interface SentBody {
  /** Metadata of the object, for an objectRef that the path does not determine; absent for lists. */
  readonly metadata?: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
  /** JSON without line breaks; called synchronously, and only if the policy records bodies. */
  readonly json: () => string | undefined;
}

/** The audit events of one request, for the stages of the server. */
export interface AuditTrail extends RequestNotes {
  /** Whether the policy level includes the response object. */
  readonly includesResponse: boolean;
  actsAs(user: User): void;
  /** Stage RequestReceived. @throws AuditFault if recording fails and the backend is blocking-strict */
  received(): Promise<void> | undefined;
  /** Records the time in ms that the request waited for seats. */
  queued(milliseconds: number): void;
  /** Stage ResponseStarted of a long-running response. */
  started(code: number): void;
  /** Stage ResponseComplete; never rejects. */
  completed(answer: AuditedResponse): Promise<void>;
  /** Stage Panic: the request failed with an unexpected exception; never rejects. */
  panicked(message: string): Promise<void>;
}

export interface AuditedResponse {
  /** HTTP status code; undefined if the client disconnected before the response. */
  readonly code: number | undefined;
  /** The Status of a failed request. */
  readonly status?: Status | undefined;
  /** JSON without line breaks. */
  readonly body?: string | undefined;
  /** Whether the response body was too large to record. */
  readonly cut?: boolean;
}

/** The request must not be served because it cannot be audited. */
export class AuditFault extends Error {
  override readonly name = "AuditFault";
}
