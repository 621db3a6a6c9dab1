/** The Status object of responses, and the error that contains it. */

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: {
    readonly continue?: string;
    readonly resourceVersion?: string;
    readonly remainingItemCount?: number;
  };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  /** HTTP status; the server answers with it. */
  readonly code?: number;
}

/** An API error; the server responds with `status` unchanged. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  constructor(
    readonly status: Status,
    /** Extra response headers, for example `Retry-After`. */
    readonly headers: Readonly<Record<string, string>> = {},
    /** For Warning headers: what was told before the request failed. */
    readonly warnings: readonly string[] = [],
  ) {
    super(status.message ?? status.reason ?? "failure");
  }
  get code(): number {
    return this.status.code ?? 500;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}

/** Whether the status is 409: a conflicting write, or the name is taken. */
export function isConflict(error: unknown): boolean {
  return error instanceof StatusError && error.code === 409;
}

/** Whether a create failed because the name is taken. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof StatusError && error.status.reason === "AlreadyExists";
}

/** Whether a create failed because the namespace is terminating. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const causes = error.status.details?.causes ?? [];
  return causes.some(({ reason }) => reason === "NamespaceTerminating");
}

/** Ignores a "not found" error; rethrows others. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Ignores a conflict; rethrows other errors. */
export function ignoreConflict(error: unknown): undefined {
  if (!isConflict(error)) throw error;
}
