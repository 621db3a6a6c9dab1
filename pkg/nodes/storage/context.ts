import type { Clock, Random } from "#base";
import { type Client, type CoreEventRecorder, type Informers, WorkQueue } from "#client";
import type { Instruments } from "#request";
import type { StorageNames } from "./storage-names.ts";

/** Dependencies of the controllers of the simulated CSI driver. */
export interface StorageContext {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Reports an error that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
  readonly names: StorageNames;
  /** Records Events of the sidecars. */
  readonly recorder: CoreEventRecorder;
}

/** Number of objects that a sidecar processes concurrently. */
export const sidecarWorkers = 20;
/** Delays of the sidecars after a failure, doubling: `--retry-interval-start` and `-max`. */
export const sidecarDelays = { firstMs: 1_000, maxMs: 300_000 };

export function sidecarQueue(context: StorageContext, name: string): WorkQueue {
  return new WorkQueue({ ...context, name, delays: sidecarDelays });
}
/** Retry delay after a conflict. */
export const conflictMs = 50;
