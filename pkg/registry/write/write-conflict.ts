import { type Clock, KeyedMutex, realClock } from "#base";
import { StatusError } from "#meta";
import type { Entry } from "#storage";
import type { RegistryContext } from "../context.ts";
import type { ResourceRequest } from "../contract.ts";

/**
 * Concurrent writers of one object queue on its key. Without the mutex each of n writers retries
 * after every success of another, about n²/2 attempts for n writes; with it each makes about two.
 *
 * The mutex only saves work. Lost updates are prevented by the compare-and-swap, which also covers
 * other replicas and writers that exceed the hold limit.
 */

/**
 * Lock hold time limit in ms. A slower writer (e.g. behind a webhook) loses the lock;
 * compare-and-swap still protects the write.
 */
const holdLimitMs = 1000;

/** The mutex of all writers of a registry, keyed by storage key. */
export function writeMutex(clock: Clock): KeyedMutex {
  return new KeyedMutex({ clock: realClock(clock), milliseconds: holdLimitMs });
}

/** Another writer changed the object first; `current` is what is stored now. */
export interface Conflict {
  readonly current: Entry | undefined;
}

/** The result of an attempt without a conflict. */
interface Completed<T> {
  readonly response: T;
  /** The store was written, which confirms the version that the attempt started from. */
  readonly isStored: boolean;
}

export type AttemptResult<T> = Completed<T> | Conflict;

interface WriteTarget extends Pick<ResourceRequest, "context"> {
  readonly key: string;
  /** Start from the version that this process has cached, without a read of the store. */
  readonly optimistic?: boolean;
}

/** The version from which an attempt starts. */
interface Origin {
  readonly entry: Entry | undefined;
  /** The store returned it after the request began. */
  readonly isConfirmed: boolean;
}

/**
 * Attempts to change the entry of a key until the attempt meets no conflict, or the request's signal
 * aborts. An optimistic request reads the entry only after a conflict, or to confirm a StatusError or
 * a response that wrote nothing: if the attempt started from an outdated version, it is repeated with
 * the version that was read.
 */
export async function retryOnConflict<T>(
  { store, mutex }: Pick<RegistryContext, "store" | "mutex">,
  { key, context, optimistic = false }: WriteTarget,
  attempt: (entry: Entry | undefined) => Promise<AttemptResult<T>>,
): Promise<T> {
  const { signal } = context;
  const read = async (): Promise<Origin> => {
    const { entry } = await store.get(key, { signal });
    return { entry, isConfirmed: true };
  };
  const newest = (): Origin | Promise<Origin> => {
    const known = optimistic ? store.known(key) : undefined;
    return known === undefined ? read() : { entry: known.entry, isConfirmed: false };
  };
  let release = mutex.isLocked(key) ? await mutex.acquire(key, signal) : undefined;
  try {
    let origin = await newest();
    for (;;) {
      signal.throwIfAborted();
      const outcome = await attemptFrom(origin, { attempt, read });
      if ("response" in outcome) return outcome.response;
      if ("outdated" in outcome) {
        origin = outcome.outdated;
        continue;
      }
      origin = { entry: outcome.current, isConfirmed: true };
      if (release !== undefined) continue;
      const waits = mutex.isLocked(key);
      release = await mutex.acquire(key, signal);
      if (waits) origin = await newest();
    }
  } finally {
    release?.();
  }
}

interface Attempt<T> {
  readonly attempt: (entry: Entry | undefined) => Promise<AttemptResult<T>>;
  readonly read: () => Promise<Origin>;
}

/** The outcome of one attempt, or the version in the store if the attempt's origin is outdated. */
async function attemptFrom<T>(
  origin: Origin,
  { attempt, read }: Attempt<T>,
): Promise<AttemptResult<T> | { readonly outdated: Origin }> {
  if (origin.isConfirmed) return attempt(origin.entry);
  try {
    const outcome = await attempt(origin.entry);
    if (!("response" in outcome) || outcome.isStored) return outcome;
    const newest = await read();
    return isSameVersion(newest, origin) ? outcome : { outdated: newest };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const newest = await read();
    if (isSameVersion(newest, origin)) throw error;
    return { outdated: newest };
  }
}

/** A value under an old encryption key is outdated: it is written again even if it is unchanged. */
function isSameVersion({ entry: newest }: Origin, { entry: origin }: Origin): boolean {
  if (newest?.encryption?.stale === true) return false;
  return newest?.modRevision === origin?.modRevision;
}
