import { systemClock, type Clock } from "#base";
import { EmbeddedStore, type StoreLimits } from "./embedded-store.ts";
import { defaultRetention, History } from "./history.ts";
import { emptyState } from "./state.ts";

interface MemoryBackendOptions {
  readonly clock?: Clock;
  readonly limits?: Partial<StoreLimits>;
}

export const defaultLimits: StoreLimits = {
  retention: defaultRetention,
  transactionBytes: 1.5 * 1024 * 1024,
  keyBytes: 1900,
  progressMilliseconds: 5000,
};

/** A store in memory. Its `snapshot()` costs a reference per chunk of the history. */
export function memoryBackend(options: MemoryBackendOptions = {}): EmbeddedStore {
  const clock = options.clock ?? systemClock;
  const limits = { ...defaultLimits, ...options.limits };
  return new EmbeddedStore({ clock, history: new History(emptyState()), limits });
}
