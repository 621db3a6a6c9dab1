import type { Resource } from "#meta";
import type {
  CachedSize,
  Change,
  Collection,
  Entry,
  ObjectStore,
  PageOptions,
  Snapshot,
  Span,
  Subscriber,
  WriteOptions,
  WriteOutcome,
} from "#storage";
import { ConvertedEntries } from "./converted-entries.ts";

interface Asking {
  readonly signal?: AbortSignal;
}

/**
 * A store whose entries of one resource all have the version of that resource: entries that need a
 * conversion webhook are converted on reads and writes, transparently to the registry.
 */
export function convertedStore(
  store: ObjectStore,
  resource: Resource,
  entries: ConvertedEntries,
): ObjectStore {
  const { keyPrefix } = resource;
  const isConcerned = (key: string): boolean => key.startsWith(keyPrefix);
  const converted = async <T extends Entry | undefined>(
    entry: T,
    { signal }: Asking = {},
  ): Promise<T> => {
    if (entry === undefined || !isConcerned(entry.key)) return entry;
    return (await entries.one(entry, signal)) as T;
  };
  const toStore = (key: string, value: Uint8Array, { signal }: Asking = {}) =>
    isConcerned(key) ? entries.stored(value, signal) : Promise.resolve(value);
  const outcome = async (written: WriteOutcome, options?: Asking): Promise<WriteOutcome> =>
    written.done
      ? { ...written, entry: await converted(written.entry, options) }
      : { ...written, current: await converted(written.current, options) };
  let collection: ConvertedCollection | undefined;
  return {
    statistics: () => store.statistics(),
    collection: (prefix) => {
      const own = store.collection(prefix);
      if (prefix !== keyPrefix) return own;
      return (collection ??= new ConvertedCollection(own, entries));
    },
    get: async (key, options) => {
      const found = await store.get(key, options);
      return { ...found, entry: await converted(found.entry, options) };
    },
    // Entries of the resource are converted asynchronously.
    known: (key) => (isConcerned(key) ? undefined : store.known(key)),
    list: async (prefix, options) => {
      const page = await store.list(prefix, options);
      if (!isConcerned(prefix)) return page;
      return { ...page, entries: await entries.all(page.entries, options.signal) };
    },
    create: async (key, value, options?: WriteOptions) => {
      const stored = await toStore(key, value, options);
      return converted(await store.create(key, stored, options), options);
    },
    update: async (key, expected, value, options?: WriteOptions) => {
      const stored = await toStore(key, value, options);
      return outcome(await store.update(key, expected, stored, options), options);
    },
    delete: async (key, expected, options) =>
      outcome(await store.delete(key, expected, options), options),
    revision: (signal) => store.revision(signal),
  };
}

/** Changes converted in one go. */
const mostChanges = 500;

/**
 * A collection in another version. Subscribers are notified of changes once they are
 * converted, from a change log of its own, which starts with the first subscriber and is as long as
 * that of the underlying collection.
 */
class ConvertedCollection implements Collection, Subscriber {
  readonly #base: Collection;
  readonly #entries: ConvertedEntries;
  readonly #subscribers = new Set<Subscriber>();
  #unsubscribe: (() => void) | undefined;
  #log: Change[] = [];
  /** The log holds all changes after the first and up to the second. */
  #span: Span | undefined;
  #converting = false;

  constructor(base: Collection, entries: ConvertedEntries) {
    this.#base = base;
    this.#entries = entries;
  }

  get prefix(): string {
    return this.#base.prefix;
  }
  get written(): number {
    return this.#base.written;
  }
  committedAt(revision: number): number | undefined {
    return this.#base.committedAt(revision);
  }
  get span(): Span | undefined {
    return this.#unsubscribe === undefined ? this.#base.span : this.#span;
  }

  async get(key: string, options: Parameters<Collection["get"]>[1]) {
    const found = await this.#base.get(key, options);
    const { entry } = found;
    if (entry === undefined) return found;
    return { ...found, entry: await this.#entries.one(entry, options.signal) };
  }

  async newest(options: Parameters<Collection["newest"]>[0]): Promise<Snapshot> {
    return this.#view(await this.#base.newest(options));
  }

  async at(revision: number, options: Asking): Promise<Snapshot> {
    return this.#view(await this.#base.at(revision, options));
  }

  isKnownEmpty(prefix: string): boolean {
    return this.#base.isKnownEmpty(prefix);
  }

  cachedSize(prefix: string): CachedSize | undefined {
    return this.#base.cachedSize(prefix);
  }

  filled(signal?: AbortSignal): Promise<void> {
    return this.#base.filled(signal);
  }

  changesAfter(revision: number, limit = Number.POSITIVE_INFINITY): readonly Change[] {
    const first = this.#log.findIndex((change) => change.revision > revision);
    if (first < 0) return [];
    let end = Math.min(first + limit, this.#log.length);
    // Changes of one revision stay together.
    while (end < this.#log.length && this.#log[end]?.revision === this.#log[end - 1]?.revision) {
      end += 1;
    }
    return this.#log.slice(first, end);
  }

  async *past(prefix: string, fromRevision: number, signal: AbortSignal) {
    for await (const batch of this.#base.past(prefix, fromRevision, signal)) {
      yield { ...batch, changes: await this.#entries.changes(batch.changes, signal) };
    }
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    if (this.#unsubscribe === undefined) {
      const to = this.#base.span?.to ?? 0;
      this.#span = { from: to, to };
      this.#log = [];
      this.#unsubscribe = this.#base.subscribe(this);
    }
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#stop();
    };
  }

  changed(): void {
    if (!this.#converting) void this.#catchUp();
  }

  lost(): void {
    const told = [...this.#subscribers];
    this.#stop();
    for (const subscriber of told) subscriber.lost();
  }

  #stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#log = [];
    this.#subscribers.clear();
  }

  #view(snapshot: Snapshot): Snapshot {
    const { revision } = snapshot;
    return {
      revision,
      page: async (prefix: string, options: PageOptions) => {
        const { runs, remaining } = await snapshot.page(prefix, options);
        return { runs: [await this.#entries.all(runs.flat(), options.signal)], remaining };
      },
    };
  }

  /** Converts what has happened, in order; who follows loses the thread where that fails. */
  async #catchUp(): Promise<void> {
    this.#converting = true;
    const subscription = this.#unsubscribe;
    try {
      while (this.#unsubscribe !== undefined && this.#unsubscribe === subscription) {
        const below = this.#base.span;
        const own = this.#span;
        if (below === undefined || own === undefined || own.to < below.from) return this.lost();
        if (own.to >= below.to) return;
        const changes = this.#base.changesAfter(own.to, mostChanges);
        const whole = changes.length < mostChanges;
        const converted = await this.#entries.changes(changes, undefined);
        if (this.#unsubscribe !== subscription) return;
        const to = whole ? below.to : (changes.at(-1)?.revision ?? below.to);
        this.#log.push(...converted);
        this.#forget(below.from);
        this.#span = { from: Math.max(own.from, below.from), to };
        for (const subscriber of this.#subscribers) subscriber.changed();
      }
    } catch {
      // A client that lists again gets the reason why objects cannot be converted.
      if (this.#unsubscribe === subscription) this.lost();
    } finally {
      this.#converting = false;
    }
  }

  #forget(before: number): void {
    const kept = this.#log.findIndex((change) => change.revision > before);
    if (kept > 0) this.#log.splice(0, kept);
    else if (kept < 0) this.#log = [];
  }
}
