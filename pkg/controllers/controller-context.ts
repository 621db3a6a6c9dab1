import type { Clock, Random } from "#base";
import {
  type ApiObject,
  type InformerEvent,
  type Client,
  type Informer,
  type Informers,
  WorkQueue,
  type WorkQueueOptions,
} from "#client";
import { StatusError } from "#meta";

export { isNamespaceTerminating as isTerminating } from "#meta";
import type { Instruments } from "#request";

/** Dependencies of every controller. */
export interface ControllerContext {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts to stop the controller. */
  readonly signal: AbortSignal;
  /** Reports an error that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
}

/** A work queue named `name`; `delays` overrides the default backoff. */
export function newWorkQueue(
  context: ControllerContext & Pick<WorkQueueOptions, "delays">,
  name: string,
): WorkQueue {
  return new WorkQueue({ ...context, name });
}

/** Enqueues the keys that `keysOf` returns for each event of an informer. */
export function enqueueOnChange<T extends ApiObject>(
  queue: WorkQueue,
  informer: Informer<T>,
  keysOf: (change: InformerEvent<T>) => readonly string[],
): void {
  informer.subscribe((change) => {
    for (const key of keysOf(change)) queue.add(key);
  });
}

export function statusCodeOf(error: unknown): number {
  return error instanceof StatusError ? error.code : 0;
}
