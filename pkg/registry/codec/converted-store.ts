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

interface ReadOptions {
  readonly signal?: AbortSignal;
}

/**
 * A store that converts the entries of one resource by its conversion webhook: reads return them in the
 * version of the resource, writes store them in the storage version. Other entries pass unchanged.
 */
export function convertedStore(
  store: ObjectStore,
  resource: Resource,
  entries: ConvertedEntries,
): ObjectStore {
  const { keyPrefix } = resource;
  const isOfResource = (key: string): boolean => key.startsWith(keyPrefix);
  const converted = async <T extends Entry | undefined>(
    entry: T,
    { signal }: ReadOptions = {},
  ): Promise<T> => {
    if (entry === undefined || !isOfResource(entry.key)) return entry;
    return (await entries.one(entry, signal)) as T;
  };
  const toStore = (key: string, value: Uint8Array, { signal }: ReadOptions = {}) =>
    isOfResource(key) ? entries.stored(value, signal) : Promise.resolve(value);
  const outcome = async (written: WriteOutcome, options?: ReadOptions): Promise<WriteOutcome> =>
    written.done
      ? { ...written, entry: await converted(written.entry, options) }
      : { ...written, current: await converted(written.current, options) };
  let collection: ConvertedCollection | undefined;
  return {
    statistics: () => store.statistics(),
    collection: (prefix) => {
      const base = store.collection(prefix);
      if (prefix !== keyPrefix) return base;
      return (collection ??= new ConvertedCollection(base, entries));
    },
    get: async (key, options) => {
      const found = await store.get(key, options);
      return { ...found, entry: await converted(found.entry, options) };
    },
    // The webhook converts asynchronously, so entries of the resource are never known without waiting.
    known: (key) => (isOfResource(key) ? undefined : store.known(key)),
    list: async (prefix, options) => {
      const page = await store.list(prefix, options);
      if (!isOfResource(prefix)) return page;
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

/** Changes that are converted at a time. */
const maxChanges = 500;

/**
 * A collection in another version. Its change log holds converted changes: it starts with the first
 * subscriber and is as long as that of the underlying collection. Subscribers are notified after the
 * conversion.
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

  async at(revision: number, options: ReadOptions): Promise<Snapshot> {
    return this.#view(await this.#base.at(revision, options));
  }

  isKnownEmpty(prefix: string): boolean {
    return this.#base.isKnownEmpty(prefix);
  }

  cachedSize(prefix: string): CachedSize | undefined {
    return this.#base.cachedSize(prefix);
  }

  get unreadable(): number {
    return this.#base.unreadable;
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
    const subscribers = [...this.#subscribers];
    this.#stop();
    for (const subscriber of subscribers) subscriber.lost();
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

  /** Converts new changes in order; if the conversion fails, all subscribers are told to relist. */
  async #catchUp(): Promise<void> {
    this.#converting = true;
    const subscription = this.#unsubscribe;
    try {
      while (this.#unsubscribe !== undefined && this.#unsubscribe === subscription) {
        const base = this.#base.span;
        const span = this.#span;
        if (base === undefined || span === undefined || span.to < base.from) return this.lost();
        if (span.to >= base.to) return;
        const changes = this.#base.changesAfter(span.to, maxChanges);
        const isComplete = changes.length < maxChanges;
        const converted = await this.#entries.changes(changes, undefined);
        if (this.#unsubscribe !== subscription) return;
        const to = isComplete ? base.to : (changes.at(-1)?.revision ?? base.to);
        this.#log.push(...converted);
        this.#trimLog(base.from);
        this.#span = { from: Math.max(span.from, base.from), to };
        for (const subscriber of this.#subscribers) subscriber.changed();
      }
    } catch {
      // A client that relists receives the error of the conversion.
      if (this.#unsubscribe === subscription) this.lost();
    } finally {
      this.#converting = false;
    }
  }

  /** Drops changes up to the revision from the log. */
  #trimLog(revision: number): void {
    const first = this.#log.findIndex((change) => change.revision > revision);
    if (first > 0) this.#log.splice(0, first);
    else if (first < 0) this.#log = [];
  }
}
