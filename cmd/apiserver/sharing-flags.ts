import type { StartOptions } from "#controlplane";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";

const atLeast0 = { minimum: 0 };

/** Limits on what is served at a time. */
export const inflightFlags = {
  "max-requests-inflight": flag(
    "int",
    400,
    "maximum number of non-mutating requests in flight, without watches; 0 = no limit",
    atLeast0,
  ),
  "max-mutating-requests-inflight": flag(
    "int",
    200,
    "maximum number of mutating requests in flight; 0 = no limit",
    atLeast0,
  ),
  "list-memory-budget": flag(
    "int",
    256,
    "MiB for response bodies that wait to be sent; requests beyond it are answered with 429",
    { minimum: 1 },
  ),
} as const;

export const workerFlags = {
  workers: flag(
    "int",
    1,
    "number of processes behind --secure-port, each a replica with its share of the limits; more " +
      "than 1 needs --storage-backend=etcd3",
    { minimum: 1, maximum: 128 },
  ),
} as const;

type Values = FlagValues<typeof inflightFlags & typeof workerFlags>;

/** Limits of one process: each worker gets an equal share of what the flags allow. */
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
 * Refuses --workers with options that several processes cannot share.
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
