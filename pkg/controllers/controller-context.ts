import type { Clock, Random } from "#base";
import {
  type ApiObject,
  type Change,
  type Client,
  type Informer,
  type Informers,
  WorkQueue,
  type WorkQueueOptions,
} from "#client";
import { StatusError } from "#meta";
import type { Instruments } from "#request";

/** What every controller is given. */
export interface ControllerContext {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the controller. */
  readonly signal: AbortSignal;
  /** Told of what went wrong and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
}

/** `delays` after failures may differ from the usual ones. */
export function newWorkQueue(
  context: ControllerContext & Pick<WorkQueueOptions, "delays">,
  name: string,
): WorkQueue {
  return new WorkQueue({ ...context, name });
}

/** Adds the keys of whatever changes in a collection, as `keysOf` tells them. */
export function enqueueOnChange<T extends ApiObject>(
  queue: WorkQueue,
  informer: Informer<T>,
  keysOf: (change: Change<T>) => readonly string[],
): void {
  informer.subscribe((change) => {
    for (const key of keysOf(change)) queue.add(key);
  });
}

export function statusCodeOf(error: unknown): number {
  return error instanceof StatusError ? error.code : 0;
}

/** Nothing new is made in a namespace that goes away. */
export function isTerminating(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const causes = error.status.details?.causes ?? [];
  return causes.some(({ reason }) => reason === "NamespaceTerminating");
}
