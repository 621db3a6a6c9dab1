import { StoreFault } from "../backend.ts";
import { RpcFault } from "./rpc.ts";
import { WireFault } from "./wire.ts";

/**
 * What a failed call means. etcd tells much of it only in words, which are part of its visible
 * behaviour.
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

/** First match wins. */
const words: readonly (readonly [RegExp, Failure["what"]])[] = [
  [/required revision has been compacted/, "compacted"],
  [/required revision is a future revision/, "future-revision"],
  [/etcdserver: request is too large/, "too-large"],
  [/(received|send) message larger than/i, "too-large"],
  [/database space exceeded/, "no-space"],
  [/requested lease not found|is expired or revoked/, "lease-gone"],
  [/etcdserver: too many requests/, "not-applied"],
  // The request carries `hasleader`, so this is said before anything is proposed.
  [/etcdserver: no leader/, "not-applied"],
  [/corrupt/i, "corrupt"],
  [/etcdserver: request timed out/, "late"],
  [/etcdserver: (leader changed|server stopped|.*raft)/, "lost"],
];

/** By gRPC's status, where the words say nothing. */
const statuses: ReadonlyMap<number, Failure["what"]> = new Map([
  [1, "lost"],
  [2, "lost"],
  [4, "late"],
  [7, "refused"],
  [10, "lost"],
  [13, "lost"],
  [14, "lost"],
  [15, "corrupt"],
  [16, "refused"],
]);

export function failureOf(error: unknown): Failure {
  if (!(error instanceof RpcFault)) {
    const what = error instanceof WireFault ? "corrupt" : "unexpected";
    return { what, message: error instanceof Error ? error.message : String(error) };
  }
  const { message } = error;
  return { what: meaningOf(error), message };
}

function meaningOf({ what, status, message }: RpcFault): Failure["what"] {
  switch (what) {
    case "unsent":
      return "not-applied";
    case "late":
      return "late";
    case "lost":
    case "canceled":
      return "lost";
    case "status": {
      const found = words.find(([pattern]) => pattern.test(message));
      return found?.[1] ?? statuses.get(status) ?? "unexpected";
    }
  }
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
