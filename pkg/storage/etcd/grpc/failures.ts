import { DecodeFault } from "#schema";
import { StoreFault } from "../../backend.ts";

/** gRPC status codes that this client also creates. */
export const grpcStatus = {
  cancelled: 1,
  deadlineExceeded: 4,
  internal: 13,
  unavailable: 14,
} as const;

const statusNames: readonly string[] = (
  "OK Cancelled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied " +
  "ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable " +
  "DataLoss Unauthenticated"
).split(" ");

/** A call ended with a status other than OK. */
export class GrpcError extends Error {
  override readonly name: string;
  constructor(code: number, details: string) {
    super(details === "" ? "etcd gave no answer" : details);
    this.name = statusNames[code] ?? "Unknown";
  }
}

/**
 * The meaning of an error. As etcd3 drops status codes, class names (such as GRPCUnavailableError) and
 * messages are matched; both are part of the visible behaviour of etcd and gRPC.
 */
export interface Failure {
  readonly what:
    | "compacted"
    | "future-revision"
    | "too-large"
    | "no-space"
    | "lease-gone"
    /** The request was not sent, or etcd rejected it before proposing it. */
    | "not-applied"
    /** The request may have been applied. */
    | "lost"
    /** The request timed out and may have been applied. */
    | "late"
    | "corrupt"
    /** Invalid credentials or missing permissions; not retryable. */
    | "refused"
    | "unexpected";
  readonly message: string;
}

/** Patterns of `name: message`; the first match determines the meaning. */
const patterns: readonly (readonly [RegExp, Failure["what"]])[] = [
  [/required revision has been compacted/, "compacted"],
  [/required revision is a future revision/, "future-revision"],
  [/etcdserver: request is too large/, "too-large"],
  [/(received|send) message larger than/i, "too-large"],
  [/database space exceeded/, "no-space"],
  [/requested lease not found|is expired or revoked/, "lease-gone"],
  [/etcdserver: too many requests/, "not-applied"],
  // Requests have the header `hasleader`, so this is an error before the proposal.
  [/etcdserver: no leader/, "not-applied"],
  [/No connection established|Waiting for LB pick|Name resolution failed/, "not-applied"],
  [/ClientClosedError|client was already closed/, "not-applied"],
  [/corrupt|^(GRPC)?DataLoss|DecodeFault/i, "corrupt"],
  [/PermissionDenied|Unauthenticated|AuthenticationFailed|InvalidAuthToken/, "refused"],
  [/^(GRPC)?DeadlineExceeded|etcdserver: request timed out/, "late"],
  [/^(GRPC)?(Unavailable|Cancelled|Internal|Aborted|Unknown)/, "lost"],
  [/etcdserver: (leader changed|server stopped|.*raft)/, "lost"],
];

export function failureOf(error: unknown): Failure {
  const message = messageOf(error);
  const text = error instanceof Error ? `${nameOf(error)}: ${message}` : message;
  const match = patterns.find(([pattern]) => pattern.test(text));
  return { what: match?.[1] ?? "unexpected", message: cleanMessage(message) };
}

function messageOf(error: unknown): string {
  if (error instanceof DecodeFault) return `invalid message from etcd: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function nameOf(error: Error): string {
  return error instanceof GrpcError ? error.name : error.constructor.name;
}

const noAnswerYet = "no answer yet";

/** The error of a call that was not sent because there is no connection. */
export function unconnected(reason: string | undefined): GrpcError {
  const text = `No connection established. Last error: ${reason ?? noAnswerYet}`;
  return new GrpcError(grpcStatus.unavailable, text);
}

/** Whether the connection was neither accepted nor refused in time. */
export function isUnanswered({ message }: Failure): boolean {
  return message.endsWith(`Last error: ${noAnswerYet}`);
}

/** Whether another member or a new connection may succeed. */
export function isConnectionTrouble({ what, message }: Failure): boolean {
  if (what === "late" || what === "lost") return !/leader changed/.test(message);
  return what === "not-applied" && !/too many requests/.test(message);
}

/** The StoreFault of a failure. The backend handles `compacted` and `future-revision` before. */
export function faultOf(failure: Failure, write: boolean): StoreFault {
  const { what, message } = failure;
  switch (what) {
    case "too-large":
      return new StoreFault({ kind: "too-large", message });
    case "no-space":
      return new StoreFault({ kind: "no-space", message });
    case "corrupt":
      return new StoreFault({ kind: "corrupt", message });
    case "late":
      return new StoreFault({ kind: "timeout", message, maybeApplied: write });
    case "lost":
      return new StoreFault({ kind: "unavailable", message, maybeApplied: write });
    case "not-applied":
    case "refused":
    case "lease-gone":
    case "compacted":
    case "future-revision":
      return new StoreFault({ kind: "unavailable", message, maybeApplied: false });
    case "unexpected":
      return new StoreFault({ kind: "unavailable", message, maybeApplied: write });
  }
}

/** Removes the empty resolution note of grpc-js. */
function cleanMessage(message: string): string {
  return message.replace(/\.? Resolution note: $/, "");
}
