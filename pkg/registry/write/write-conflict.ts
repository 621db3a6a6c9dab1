import { type Clock, KeyedMutex, realClock } from "#base";
import type { Entry } from "#storage";
import type { RegistryContext } from "../context.ts";
import type { ResourceRequest } from "../contract.ts";

/**
 * Concurrent writers of one object queue on its key: without the mutex each of n writers would
 * retry after every success of another, about n²/2 attempts for n writes; with it each makes about
 * two.
 *
 * The mutex only saves work. Writers are kept apart by the compare-and-swap, which also covers other
 * replicas and holders that exceed the hold limit.
 */

/**
 * Lock hold time limit in ms. A slower writer (e.g. behind a webhook) loses the lock;
 * compare-and-swap still protects the write.
 */
const holdLimitMs = 1000;

export function writeMutex(clock: Clock): KeyedMutex {
  return new KeyedMutex({ clock: realClock(clock), milliseconds: holdLimitMs });
}

/** Another writer changed the object first; `current` is what is stored now. */
export interface Conflict {
  readonly current: Entry | undefined;
}

export type AttemptResult<T> = { readonly response: T } | Conflict;

/**
 * Attempts to change the entry of a key until the attempt meets no conflict, or the request's signal
 * aborts.
 */
export async function retryOnConflict<T>(
  { store, mutex }: Pick<RegistryContext, "store" | "mutex">,
  { key, context }: Pick<ResourceRequest, "context"> & { readonly key: string },
  attempt: (entry: Entry | undefined) => Promise<AttemptResult<T>>,
): Promise<T> {
  const { signal } = context;
  let release = mutex.isLocked(key) ? await mutex.acquire(key, signal) : undefined;
  try {
    let { entry } = await store.get(key, { signal });
    for (;;) {
      signal.throwIfAborted();
      const outcome = await attempt(entry);
      if ("response" in outcome) return outcome.response;
      entry = outcome.current;
      if (release !== undefined) continue;
      const waits = mutex.isLocked(key);
      release = await mutex.acquire(key, signal);
      if (waits) ({ entry } = await store.get(key, { signal }));
    }
  } finally {
    release?.();
  }
}
