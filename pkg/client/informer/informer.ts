import type { Clock, Random } from "#base";
import type { ApiObject, Client, Handle, Selection } from "../contract.ts";
import { reflect } from "./reflector.ts";

export type InformerEvent<T extends ApiObject> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "updated"; readonly object: T; readonly before: T }
  | { readonly type: "deleted"; readonly object: T };

type Handler<T extends ApiObject> = (change: InformerEvent<T>) => void;

/** Computes the index values of an object. */
type IndexFunction<T extends ApiObject> = (object: T) => readonly string[];

/** Index functions by name of the index. */
export type Indexes<T extends ApiObject> = Readonly<Record<string, IndexFunction<T>>>;

/** Transforms objects before they are cached, e.g. drops fields that the program does not use. */
export type Transform = <T extends ApiObject>(object: T, resource: Handle<T>) => T;

export interface InformerOptions<T extends ApiObject> {
  readonly client: Client;
  readonly resource: Handle<T>;
  readonly selection?: Selection;
  readonly indexes?: Indexes<T>;
  /** Resync interval, at which handlers receive every object again; absent = never. */
  readonly resyncMs?: number;
  readonly transform?: Transform;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** `namespace/name`, or the name of a cluster-scoped object. */
export function objectKey({ metadata }: ApiObject): string {
  const { namespace = "", name } = metadata;
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** A local cache of a collection that notifies its handlers of changes. */
export class Informer<T extends ApiObject> {
  private readonly objects = new Map<string, T>();
  private readonly indexes: Map<string, IndexFunction<T>>;
  private readonly byIndex = new Map<string, Map<string, Set<string>>>();
  private readonly handlers = new Set<Handler<T>>();
  private readonly waiting: (() => void)[] = [];
  private isSynced = false;

  constructor(private readonly options: InformerOptions<T>) {
    this.indexes = new Map(Object.entries(options.indexes ?? {}));
    for (const name of this.indexes.keys()) this.byIndex.set(name, new Map());
  }

  /** Adds an index unless one of this name exists; indexes are shared by all users of the informer. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    if (this.indexes.has(name)) return;
    this.indexes.set(name, valuesOf);
    this.byIndex.set(name, new Map());
    for (const [key, object] of this.objects) this.insert(name, key, valuesOf(object));
  }

  /** Updates the cache until the signal aborts. */
  async run(): Promise<void> {
    const sink = {
      replaced: (objects: readonly T[]) => this.replace(objects),
      changed: (type: "ADDED" | "MODIFIED" | "DELETED", object: T) => {
        if (type === "DELETED") this.remove(object);
        else this.put(object);
      },
    };
    const { transform = identity, ...options } = this.options;
    const { resource } = options;
    const reflected = { ...options, sink, transform: (object: T) => transform(object, resource) };
    await Promise.all([reflect<T>(reflected), this.resync()]);
  }

  /** Whether the initial list is in the cache. */
  get synced(): boolean {
    return this.isSynced;
  }

  /** Resolves when the initial list is in the cache, or when the signal aborts. */
  untilSynced(): Promise<void> {
    const { signal } = this.options;
    if (this.isSynced || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  get(key: string): T | undefined {
    return this.objects.get(key);
  }

  /** Number of objects. */
  get size(): number {
    return this.objects.size;
  }

  all(): Iterable<T> {
    return this.objects.values();
  }

  /** The objects with `value` in an index of the options or of `addIndex`. */
  indexed(index: string, value: string): readonly T[] {
    const keys = this.byIndex.get(index)?.get(value) ?? [];
    return [...keys].map((key) => this.objects.get(key)!);
  }

  /** Adds a handler, which first receives every cached object. Returns the unsubscribe function. */
  subscribe(handler: Handler<T>): () => void {
    for (const object of this.objects.values()) handler({ type: "added", object });
    this.handlers.add(handler);
    return () => this.handlers.delete(handler);
  }

  private replace(objects: readonly T[]): void {
    const gone = new Set(this.objects.keys());
    for (const object of objects) {
      gone.delete(objectKey(object));
      this.put(object);
    }
    for (const key of gone) this.remove(this.objects.get(key)!);
    this.isSynced = true;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private put(object: T): void {
    const key = objectKey(object);
    const before = this.objects.get(key);
    if (before?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (before !== undefined) this.unindex(key, before);
    this.objects.set(key, object);
    this.index(key, object);
    // The object was deleted and recreated with the same name.
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) {
      this.notify({ type: "deleted", object: before });
      this.notify({ type: "added", object });
    } else if (before === undefined) {
      this.notify({ type: "added", object });
    } else {
      this.notify({ type: "updated", object, before });
    }
  }

  private remove(object: T): void {
    const key = objectKey(object);
    const before = this.objects.get(key);
    if (before === undefined) return;
    this.unindex(key, before);
    this.objects.delete(key);
    this.notify({ type: "deleted", object });
  }

  private index(key: string, object: T): void {
    for (const [name, valuesOf] of this.indexes) this.insert(name, key, valuesOf(object));
  }

  private insert(name: string, key: string, values: readonly string[]): void {
    const index = this.byIndex.get(name)!;
    for (const value of values) {
      const keys = index.get(value);
      if (keys === undefined) index.set(value, new Set([key]));
      else keys.add(key);
    }
  }

  private unindex(key: string, object: T): void {
    for (const [name, valuesOf] of this.indexes) {
      const index = this.byIndex.get(name)!;
      for (const value of valuesOf(object)) {
        const keys = index.get(value);
        keys?.delete(key);
        if (keys?.size === 0) index.delete(value);
      }
    }
  }

  private notify(change: InformerEvent<T>): void {
    for (const handler of this.handlers) handler(change);
  }

  private async resync(): Promise<void> {
    const { resyncMs, clock, signal } = this.options;
    if (resyncMs === undefined) return;
    while (!signal.aborted) {
      await clock.sleep(resyncMs, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      for (const object of this.objects.values()) {
        this.notify({ type: "updated", object, before: object });
      }
    }
  }
}

function identity<T>(object: T): T {
  return object;
}

/** A `Transform` that drops `metadata.managedFields`. */
export function withoutManagedFields<T extends ApiObject>(object: T): T {
  const { managedFields: _dropped, ...metadata } = object.metadata as T["metadata"] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}
