import { DecodeFault } from "#schema";
import { StoreFault } from "../../backend.ts";

/** Codes of gRPC that are made here, too. */
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

/** A call that ended with another status than OK. */
export class GrpcError extends Error {
  override readonly name: string;
  constructor(code: number, details: string) {
    super(details === "" ? "etcd gave no answer" : details);
    this.name = statusNames[code] ?? "Unknown";
  }
}

/**
 * What an error of a call means. The library drops status codes and keeps class names (such as
 * GRPCUnavailableError) and messages, so those two are what is matched; both are part of etcd's and
 * gRPC's visible behaviour.
 */
export interface Failure {
  readonly what:
    | "compacted"
    | "future-revision"
    | "too-large"
    | "no-space"
    | "lease-gone"
    /** The request never left this process, or etcd turned it away before proposing it. */
    | "not-applied"
    /** It may or may not have happened. */
    | "lost"
    /** As `lost`, because time ran out. */
    | "late"
    | "corrupt"
    /** Credentials or permissions; trying again does not help. */
    | "refused"
    | "unexpected";
  readonly message: string;
}

/** First match wins. `pattern` is matched on `name: message`. */
const patterns: readonly (readonly [RegExp, Failure["what"]])[] = [
  [/required revision has been compacted/, "compacted"],
  [/required revision is a future revision/, "future-revision"],
  [/etcdserver: request is too large/, "too-large"],
  [/(received|send) message larger than/i, "too-large"],
  [/database space exceeded/, "no-space"],
  [/requested lease not found|is expired or revoked/, "lease-gone"],
  [/etcdserver: too many requests/, "not-applied"],
  // The request carries `hasleader`, so this is said before anything is proposed.
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
  const found = patterns.find(([pattern]) => pattern.test(text));
  return { what: found?.[1] ?? "unexpected", message: plain(message) };
}

function messageOf(error: unknown): string {
  if (error instanceof DecodeFault) return `invalid message from etcd: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function nameOf(error: Error): string {
  return error instanceof GrpcError ? error.name : error.constructor.name;
}

const noAnswerYet = "no answer yet";

/** A call that was not made for lack of a connection; `reason` is why, if that is known. */
export function unconnected(reason: string | undefined): GrpcError {
  const text = `No connection established. Last error: ${reason ?? noAnswerYet}`;
  return new GrpcError(grpcStatus.unavailable, text);
}

/** Whether a connection was neither refused nor accepted in time. */
export function isUnanswered({ message }: Failure): boolean {
  return message.endsWith(`Last error: ${noAnswerYet}`);
}

/** Whether another member, or a new connection, has a chance where this one failed. */
export function isConnectionTrouble({ what, message }: Failure): boolean {
  if (what === "late" || what === "lost") return !/leader changed/.test(message);
  return what === "not-applied" && !/too many requests/.test(message);
}

/**
 * The fault for the callers of the backend. `compacted` and `future-revision` carry numbers that
 * the error lacks, so they are made where those are known.
 */
export function faultOf(failure: Failure, write: boolean): StoreFault {
  const { what, message } = failure;
  switch (what) {
    case "too-large":
      return new StoreFault({ kind: "too-large", message });
    case "no-space":
      return new StoreFault({ kind: "no-space" });
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

/** Without gRPC's empty notes. */
function plain(message: string): string {
  return message.replace(/\.? Resolution note: $/, "");
}
