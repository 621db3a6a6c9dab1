import { type Clock, plannedEnd } from "#base";
import { StoreFault, type Backend, type TransactionResult } from "./backend.ts";

type CompactedBackend = Pick<Backend, "txn" | "compact" | "revision">;

interface CompactorOptions {
  readonly clock: Clock;
  /** Between two rounds; also the age that history reaches at least before it goes. */
  readonly intervalMs: number;
  /** kube-apiserver's key by default, so that its replicas and these take turns on one store. */
  readonly key?: string;
  /** Told of a round that failed; the next one comes anyway. */
  readonly onFault?: (error: unknown) => void;
}

/** The revision of the store a round ago, and which version of the key that round saw or wrote. */
interface Round {
  readonly keyRevision: number;
  readonly revision: number;
}

/**
 * Compacts once per interval, however many replicas run this: each tries to replace the version of
 * the key that it saw a round ago, and only the one that does so compacts, to the store's revision
 * of a round ago. The first round never compacts. Stops when disposed.
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
  const result = await turn(backend, key, { last, signal });
  if (result === undefined) {
    if (last.revision > 0) await compact(backend, last.revision);
    return { keyRevision: last.keyRevision, revision: await backend.revision(signal) };
  }
  if (!result.succeeded) {
    // Another replica has compacted in this interval.
    return { keyRevision: result.read[0]?.modRevision ?? 0, revision: result.revision };
  }
  if (last.revision > 0) await compact(backend, last.revision);
  return { keyRevision: result.revision, revision: result.revision };
}

/**
 * Takes the turn to compact. Undefined when the store has no space for that: then each replica
 * compacts, because compaction is what makes room, and a second one does no harm.
 */
async function turn(
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
