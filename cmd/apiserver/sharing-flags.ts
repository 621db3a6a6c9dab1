import type { StartOptions } from "#controlplane";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";

const atLeast0 = { minimum: 0 };

/** Flags of concurrency limits. */
export const inflightFlags = {
  "enable-priority-and-fairness": flag(
    "bool",
    true,
    "queue and dispatch requests by FlowSchemas and PriorityLevelConfigurations, so that one " +
      "client cannot starve others; if false, requests beyond the in-flight limits are rejected",
  ),
  "max-requests-inflight": flag(
    "int",
    400,
    "maximum number of non-mutating requests in flight, not counting watches; with " +
      "--enable-priority-and-fairness, both in-flight limits are added to the server's " +
      "concurrency limit, which is divided among the priority levels; 0 = no limit",
    atLeast0,
  ),
  "max-mutating-requests-inflight": flag(
    "int",
    200,
    "maximum number of mutating requests in flight; see --max-requests-inflight; 0 = no limit",
    atLeast0,
  ),
  "list-memory-budget": flag(
    "int",
    256,
    "maximum size in MiB of response bodies that wait to be sent; requests that exceed it are " +
      "rejected with 429",
    { minimum: 1 },
  ),
} as const;

export const workerFlags = {
  workers: flag(
    "int",
    1,
    "number of processes behind --secure-port; each is a replica with an equal share of the " +
      "in-flight limits, and so of the seats of every priority level; more than 1 requires " +
      "--storage-backend=etcd3",
    { minimum: 1, maximum: 128 },
  ),
} as const;

type Values = FlagValues<typeof inflightFlags & typeof workerFlags>;

/** Limits of one process: each worker has an equal share of the flags' limits. */
export function sharedLimits(values: Values): NonNullable<StartOptions["limits"]> {
  const { workers } = values;
  const share = (whole: number): number => Math.ceil(whole / workers) || Infinity;
  return {
    readsInFlight: share(values["max-requests-inflight"]),
    writesInFlight: share(values["max-mutating-requests-inflight"]),
    responseBufferBytes: Math.ceil((values["list-memory-budget"] * 2 ** 20) / workers),
  };
}

/**
 * Whether API Priority and Fairness is enabled.
 * @throws UsageError if it would have no seats to distribute
 */
export function priorityAndFairness(values: Values): boolean {
  const isOn = values["enable-priority-and-fairness"];
  const seats = values["max-requests-inflight"] + values["max-mutating-requests-inflight"];
  if (isOn && seats <= 0) {
    throw new UsageError(
      "--max-requests-inflight and --max-mutating-requests-inflight must not both be 0 with " +
        "--enable-priority-and-fairness",
    );
  }
  return isOn;
}

/**
 * Rejects --workers with options that several processes cannot share.
 * @throws UsageError
 */
export function checkWorkers(
  values: Values & { readonly "storage-backend": string; readonly "audit-log-path": string },
): void {
  if (values.workers === 1) return;
  if (values["storage-backend"] !== "etcd3") {
    throw new UsageError("--workers: several processes can share only --storage-backend=etcd3");
  }
  if (!["", "-"].includes(values["audit-log-path"])) {
    throw new UsageError(
      "--workers: several processes cannot rotate one --audit-log-path; use - or a webhook",
    );
  }
}
