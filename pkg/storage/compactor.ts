import { type Clock, plannedEnd } from "#base";
import { StoreFault, type Backend, type TransactionResult } from "./backend.ts";

type CompactedBackend = Pick<Backend, "txn" | "compact" | "revision">;

interface CompactorOptions {
  readonly clock: Clock;
  /** Time between rounds, which is also the minimum age of compacted history. */
  readonly intervalMs: number;
  /** Coordination key of the replicas; default: that of kube-apiserver, which may share the store. */
  readonly key?: string;
  /** Called when a round fails; the next one runs as scheduled. */
  readonly onFault?: (error: unknown) => void;
}

/** The state of the previous round: the store's revision and the version of the coordination key. */
interface Round {
  readonly keyRevision: number;
  readonly revision: number;
}

/**
 * Compacts the store once per interval across all replicas, as kube-apiserver does: each replica tries
 * to replace the version of the key that it read in the previous round, and the one that succeeds
 * compacts to the store's revision of that round. The first round never compacts. Stops when disposed.
 */
export function startCompactor(
  backend: CompactedBackend,
  options: CompactorOptions,
): AsyncDisposable {
  const stop = new AbortController();
  const running = run(backend, options, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(plannedEnd);
      await running;
    },
  };
}

async function run(
  backend: CompactedBackend,
  options: CompactorOptions,
  signal: AbortSignal,
): Promise<void> {
  let last: Round = { keyRevision: 0, revision: 0 };
  while (!signal.aborted) {
    try {
      await options.clock.sleep(options.intervalMs, signal);
      last = await compactOnce(backend, options.key ?? "compact_rev_key", { last, signal });
    } catch (error) {
      if (!signal.aborted) options.onFault?.(error);
    }
  }
}

async function compactOnce(
  backend: CompactedBackend,
  key: string,
  { last, signal }: { readonly last: Round; readonly signal: AbortSignal },
): Promise<Round> {
  const result = await updateKey(backend, key, { last, signal });
  if (result === undefined) {
    if (last.revision > 0) await compact(backend, last.revision);
    return { keyRevision: last.keyRevision, revision: await backend.revision(signal) };
  }
  if (!result.succeeded) {
    // Another replica has compacted during this interval.
    return { keyRevision: result.read[0]?.modRevision ?? 0, revision: result.revision };
  }
  if (last.revision > 0) await compact(backend, last.revision);
  return { keyRevision: result.revision, revision: result.revision };
}

/**
 * Tries to replace the coordination key. Undefined if the store has no space: then every replica
 * compacts, since compaction frees space and may run twice.
 */
async function updateKey(
  backend: CompactedBackend,
  key: string,
  { last, signal }: { readonly last: Round; readonly signal: AbortSignal },
): Promise<TransactionResult | undefined> {
  try {
    return await backend.txn({
      compare: [{ key, modRevision: last.keyRevision }],
      then: [{ put: key, value: Buffer.from(String(last.revision)) }],
      otherwise: [key],
      signal,
    });
  } catch (error) {
    if (error instanceof StoreFault && error.detail.kind === "no-space") return undefined;
    throw error;
  }
}

async function compact(backend: CompactedBackend, revision: number): Promise<void> {
  try {
    await backend.compact(revision);
  } catch (error) {
    if (error instanceof StoreFault && error.detail.kind === "compacted") return;
    throw error;
  }
}
