import type { StartOptions } from "#controlplane";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";

const atLeast0 = { minimum: 0 };

/** Flags of how much is served at a time, and by how many processes. */
export const sharingFlags = {
  workers: flag("int", 1, "processes behind the port, each a replica; more than one need etcd", {
    minimum: 1,
    maximum: 128,
  }),
  "max-requests-inflight": flag("int", 400, "reads served at a time; 0 = no limit", atLeast0),
  "max-mutating-requests-inflight": flag(
    "int",
    200,
    "writes served at a time; 0 = no limit",
    atLeast0,
  ),
  "list-memory-budget": flag(
    "int",
    256,
    "MiB for all large answers on their way; what does not fit is told to come later (429)",
    { minimum: 1 },
  ),
} as const;

type Values = FlagValues<typeof sharingFlags>;

/** Limits of one process: workers have equal parts of what the flags allow. */
export function sharedLimits(values: Values): NonNullable<StartOptions["limits"]> {
  const { workers } = values;
  const share = (whole: number): number => Math.ceil(whole / workers) || Infinity;
  return {
    readsInFlight: share(values["max-requests-inflight"]),
    writesInFlight: share(values["max-mutating-requests-inflight"]),
    responseBufferBytes: Math.ceil((values["list-memory-budget"] * 2 ** 20) / workers),
  };
}

/** Throws UsageError where several processes would not do what one does. */
export function checkWorkers(
  values: Values & { readonly "storage-backend": string; readonly "audit-log-path": string },
): void {
  if (values.workers === 1) return;
  if (values["storage-backend"] !== "etcd3") {
    throw new UsageError(
      "--workers: several processes share only etcd; the stores inside a process have one",
    );
  }
  if (!["", "-"].includes(values["audit-log-path"])) {
    throw new UsageError(
      "--workers: several processes cannot turn over one --audit-log-path; use - or a webhook",
    );
  }
}
