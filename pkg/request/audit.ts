import type { Status } from "#meta";
import type { RequestInfo, User } from "./types.ts";

/** What is recorded of a request from its first moment on. */
export interface AuditedRequest {
  /** Audit-Id. */
  readonly id: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly info: RequestInfo;
  /** undefined = authentication has failed. */
  readonly user: User | undefined;
  readonly userAgent: string;
  /** Addresses that the request came through, the client's first. */
  readonly sourceAddresses: readonly string[];
}

/** Audits requests. */
export interface Auditor {
  /** Starts the audit trail of a request; undefined when the policy omits it. */
  begin(request: AuditedRequest): AuditTrail | undefined;
}

/** What request handlers may add to the audit event. */
export interface RequestNotes {
  /** The first value of a key counts. */
  annotate(key: string, value: string): void;
  /** As `annotate`, for what tells of contents: asked for only where the policy keeps bodies. */
  annotateContent(key: string, value: () => string): void;
  /** What the client has sent, once it has been understood. */
  sent(body: SentBody): void;
  /** A Status that is the whole answer. */
  answeredStatus(status: Status): void;
}

export interface SentBody {
  /** Name and namespace of an object, which the path may not tell; absent for lists. */
  readonly metadata?: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
  /** JSON without line breaks; asked for at once, and only where the policy keeps bodies. */
  readonly json: () => string | undefined;
}

/** The audit trail of one request, for the stages of the server. */
export interface AuditTrail extends RequestNotes {
  /** Whether the policy level includes the response object. */
  readonly keepsAnswer: boolean;
  actsAs(user: User): void;
  /** @throws AuditFault when a request that cannot be recorded is not to be served */
  received(): Promise<void> | undefined;
  /** The request waited so many milliseconds for seats. */
  queued(milliseconds: number): void;
  /** The first bytes of a long answer are on their way. */
  started(code: number): void;
  /** The answer is over; never rejects. */
  completed(answer: AuditedAnswer): Promise<void>;
  /** A bug has ended the request; never rejects. */
  panicked(message: string): Promise<void>;
}

export interface AuditedAnswer {
  /** HTTP status code; undefined = the client had disconnected before the response. */
  readonly code: number | undefined;
  /** The Status of a failed request. */
  readonly status?: Status | undefined;
  /** JSON without line breaks. */
  readonly body?: string | undefined;
  /** There was an answer to keep, but no room for it. */
  readonly cut?: boolean;
}

/** A request may not be served because its record cannot be kept. */
export class AuditFault extends Error {
  override readonly name = "AuditFault";
}
