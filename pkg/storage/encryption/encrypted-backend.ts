import { yieldEvery } from "#base";
import type {
  Backend,
  Entry,
  StoreEvent,
  Transaction,
  TransactionResult,
  WatchBatch,
  WriteOperation,
} from "../backend.ts";
import { StoreFault } from "../backend.ts";
import type { Encryption } from "./encryption.ts";
import { TransformFault } from "./transformer.ts";

/** A backend that encrypts values on write and decrypts them on read. */
export function encryptedBackend(backend: Backend, encryption: Encryption): Backend {
  const decrypt = (entry: Entry): Entry | Promise<Entry> => encryption.decrypt(entry);
  const decryptIfPresent = (entry: Entry | undefined): Entry | undefined | Promise<Entry> =>
    entry && decrypt(entry);
  const runTransaction = async (transaction: Transaction): Promise<TransactionResult> => {
    const stored = encryption.isConfigured
      ? await encryptTransaction(transaction, encryption)
      : transaction;
    const { succeeded, revision, read, deleted } = await backend.txn(stored);
    return {
      succeeded,
      revision,
      read: await mapMaybeAsync(read, decryptIfPresent),
      ...(deleted === undefined ? {} : { deleted: await mapMaybeAsync(deleted, decrypt) }),
    };
  };
  return {
    async get(key, options) {
      const { entry, revision } = await backend.get(key, options);
      return { entry: entry && (await decrypt(entry)), revision };
    },

    async range(options) {
      const result = await backend.range(options);
      if (options.keysOnly === true) return result;
      return { ...result, entries: await mapMaybeAsync(result.entries, decrypt) };
    },

    txn(transaction) {
      // Nothing to encrypt or to decrypt.
      if (!encryption.isConfigured && readsNoValues(transaction)) return backend.txn(transaction);
      return runTransaction(transaction);
    },

    watch: (options) => {
      const { changed } = encryption;
      const signal = AbortSignal.any([options.signal, changed]);
      const batches = backend.watch({ ...options, signal });
      return decryptBatches(batches, encryption, () => changed.aborted && !options.signal.aborted);
    },

    requestProgress: () => backend.requestProgress(),
    compact: (revision) => backend.compact(revision),
    revision: (signal) => backend.revision(signal),
    get oldest() {
      return backend.oldest;
    },
    async [Symbol.asyncDispose]() {
      encryption.close();
      await backend[Symbol.asyncDispose]();
    },
  };
}

/**
 * Decrypts watch batches. Ends with StoreFault `unavailable` when the keys change, so that caches read
 * all entries again: some may have become stale, others readable.
 */
async function* decryptBatches(
  batches: AsyncIterable<WatchBatch>,
  encryption: Encryption,
  haveKeysChanged: () => boolean,
): AsyncGenerator<WatchBatch, void, undefined> {
  for await (const { events, revision } of batches) {
    yield {
      events: await mapMaybeAsync(events, (event) => decryptEvent(event, encryption)),
      revision,
    };
  }
  if (!haveKeysChanged()) return;
  const message = "the encryption keys have changed";
  throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
}

/** Whether the result of the transaction contains no values. */
function readsNoValues({ then, otherwise }: Transaction): boolean {
  return otherwise.length === 0 && then.every((operation) => "put" in operation);
}

/**
 * Maps values, and yields to the event loop between them where that takes long: secretbox needs some
 * 10 ms per megabyte. Returns a promise only then, or if a result is one.
 */
function mapMaybeAsync<T, U>(
  values: readonly T[],
  decrypt: (value: T) => U | Promise<U>,
): readonly U[] | Promise<readonly U[]> {
  const pause = yieldEvery();
  const results: (U | Promise<U>)[] = [];
  let isAsync = false;
  for (const value of values) {
    const turn = pause();
    if (turn !== undefined) return turn.then(() => mapInTurns(values, decrypt, { results, pause }));
    const result = observed(decrypt(value));
    isAsync ||= result instanceof Promise;
    results.push(result);
  }
  return isAsync ? Promise.all(results) : (results as U[]);
}

interface Mapping<U> {
  /** Results of the first values. */
  readonly results: (U | Promise<U>)[];
  readonly pause: () => Promise<void> | undefined;
}

async function mapInTurns<T, U>(
  values: readonly T[],
  decrypt: (value: T) => U | Promise<U>,
  { results, pause }: Mapping<U>,
): Promise<readonly U[]> {
  for (const value of values.slice(results.length)) {
    results.push(observed(decrypt(value)));
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  return Promise.all(results);
}

/** A rejection is reported once all values are mapped, and not as unhandled until then. */
function observed<U>(result: U | Promise<U>): U | Promise<U> {
  if (result instanceof Promise) result.catch(() => undefined);
  return result;
}

async function encryptTransaction(
  transaction: Transaction,
  encryption: Encryption,
): Promise<Transaction> {
  const then: WriteOperation[] = [];
  const pause = yieldEvery();
  for (const operation of transaction.then) {
    if ("delete" in operation) {
      then.push(operation);
      continue;
    }
    try {
      const value = await encryption.encrypt(operation.value, operation.put);
      then.push({ ...operation, value });
      // The event of the write is decrypted in a turn of its own.
      await pause();
    } catch (error) {
      if (!(error instanceof TransformFault)) throw error;
      const message = `unable to transform key ${JSON.stringify(operation.put)}: ${error.message}`;
      throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
    }
  }
  return { ...transaction, then };
}

async function decryptEventAsync(event: StoreEvent, encryption: Encryption): Promise<StoreEvent> {
  const previous = event.previous && (await encryption.decrypt(event.previous));
  if (event.type === "delete") return { ...event, previous };
  return { ...event, entry: await encryption.decrypt(event.entry), previous };
}

function decryptEvent(event: StoreEvent, encryption: Encryption): StoreEvent | Promise<StoreEvent> {
  const previous = event.previous && encryption.decrypt(event.previous);
  const entry = event.type === "put" ? encryption.decrypt(event.entry) : undefined;
  const isAsync = previous instanceof Promise || entry instanceof Promise;
  if (isAsync) return decryptEventAsync(event, encryption);
  if (event.type === "put") return { type: "put", entry: entry!, previous };
  return { type: "delete", key: event.key, revision: event.revision, previous };
}
