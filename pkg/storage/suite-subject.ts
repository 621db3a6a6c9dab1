import assert from "node:assert/strict";
import {
  prefixEnd,
  StoreFault,
  type Backend,
  type Entry,
  type StoreEvent,
  type StoreFaultDetail,
  type TransactionResult,
  type WatchBatch,
} from "./backend.ts";

export interface Fixture {
  readonly factory: () => Promise<Backend>;
  subject: Subject | undefined;
}

/**
 * The backend under test with a unique key prefix and a short notation: an entry is
 * `name=text c<createRevision> m<modRevision>`, an event `+name=text` (created), `~name=text(old)`
 * (changed) or `-name(old)` (deleted).
 */
export class Subject {
  readonly prefix: string;

  constructor(
    readonly backend: Backend,
    private readonly number = 0,
    private readonly run = `${process.pid}-${Date.now().toString(36)}`,
  ) {
    this.prefix = `/suite/${run}/${number}/`;
  }

  /** The same backend with another prefix. */
  next(): Subject {
    this.#given += 1;
    return new Subject(this.backend, this.number + this.#given, this.run);
  }

  #given = 0;

  get all(): { readonly from: string; readonly to: string } {
    return { from: this.prefix, to: prefixEnd(this.prefix) };
  }

  key(name: string): string {
    return this.prefix + name;
  }

  bare(key: string): string {
    assert.ok(key.startsWith(this.prefix), `${key} is not below ${this.prefix}`);
    return key.slice(this.prefix.length);
  }

  bytes(text: string): Uint8Array {
    return Buffer.from(text);
  }

  text(entry: Entry | undefined): string | undefined {
    return entry && Buffer.from(entry.value).toString();
  }

  show(entry: Entry | undefined): string | undefined {
    if (entry === undefined) return undefined;
    const { key, createRevision, modRevision } = entry;
    return `${this.bare(key)}=${this.text(entry)} c${createRevision} m${modRevision}`;
  }

  get(name: string): ReturnType<Backend["get"]> {
    return this.backend.get(this.key(name));
  }

  /** All entries, at a revision. */
  async list(revision?: number): Promise<string> {
    const range = revision === undefined ? this.all : { ...this.all, revision };
    const { entries, count } = await this.backend.range(range);
    assert.equal(count, entries.length);
    return entries.map((entry) => this.show(entry)).join(", ");
  }

  create(name: string, text: string): Promise<TransactionResult> {
    return this.replace(name, 0, text);
  }

  replace(name: string, modRevision: number, text: string): Promise<TransactionResult> {
    const key = this.key(name);
    const then = [{ put: key, value: this.bytes(text) }];
    return this.backend.txn({ compare: [{ key, modRevision }], then, otherwise: [key] });
  }

  remove(name: string, modRevision: number): Promise<TransactionResult> {
    const key = this.key(name);
    const compare = [{ key, modRevision }];
    return this.backend.txn({ compare, then: [{ delete: key }], otherwise: [key] });
  }

  /** Writes in one unconditional transaction; undefined values delete their keys. */
  write(values: Readonly<Record<string, string | undefined>>): Promise<TransactionResult> {
    const then = Object.entries(values).map(([name, text]) =>
      text === undefined
        ? { delete: this.key(name) }
        : { put: this.key(name), value: this.bytes(text) },
    );
    return this.backend.txn({ compare: [], then, otherwise: [] });
  }

  showEvent(event: StoreEvent): string {
    const old = event.previous === undefined ? "" : `(${this.text(event.previous)})`;
    if (event.type === "delete") return `-${this.bare(event.key)}${old}`;
    const sign = event.entry.createRevision === event.entry.modRevision ? "+" : "~";
    return `${sign}${this.bare(event.entry.key)}=${this.text(event.entry)}${old}`;
  }

  /** Watches from a revision until `enough` holds; returns the events in short notation. */
  async watched(
    fromRevision: number,
    enough: (events: readonly string[]) => boolean,
  ): Promise<readonly string[]> {
    const events: string[] = [];
    const controller = new AbortController();
    const options = { fromRevision, signal: controller.signal };
    for await (const { events: batch } of this.backend.watch(options)) {
      for (const event of batch.filter(below(this.prefix))) events.push(this.showEvent(event));
      if (enough(events)) break;
    }
    controller.abort();
    return events;
  }

  async faultOf(promise: Promise<unknown>): Promise<StoreFaultDetail> {
    try {
      await promise;
    } catch (error) {
      if (error instanceof StoreFault) return error.detail;
      throw error;
    }
    throw new assert.AssertionError({ message: "no fault" });
  }
}

/** Reads batches of a watch with a timeout, skipping those without keys below a prefix. */
export class WatchReader implements AsyncDisposable {
  readonly #iterator: AsyncIterator<WatchBatch>;
  readonly #controller: AbortController;
  readonly #isBelow: (event: StoreEvent) => boolean;

  constructor(
    backend: Backend,
    { prefix, fromRevision }: { readonly prefix: string; readonly fromRevision: number },
  ) {
    this.#controller = new AbortController();
    this.#isBelow = below(prefix);
    const watch = backend.watch({ fromRevision, signal: this.#controller.signal });
    this.#iterator = watch[Symbol.asyncIterator]();
  }

  /** The next batch; undefined at the end of the watch. */
  async batch(what = "a batch", milliseconds = 15_000): Promise<WatchBatch | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      const message = `waited ${milliseconds} ms for ${what}`;
      timer = setTimeout(() => reject(new assert.AssertionError({ message })), milliseconds);
    });
    try {
      return await Promise.race([this.#next(), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #next(): Promise<WatchBatch | undefined> {
    for (;;) {
      const result = await this.#iterator.next();
      if (result.done === true) return undefined;
      const { events, revision } = result.value;
      const matching = events.filter(this.#isBelow);
      if (matching.length > 0 || events.length === 0) return { events: matching, revision };
    }
  }

  /** The next `count` events. */
  async events(count: number): Promise<StoreEvent[]> {
    const events: StoreEvent[] = [];
    while (events.length < count) {
      const batch = await this.batch(`${count} events, had ${events.length}`);
      assert.ok(batch !== undefined, `the watch ended after ${events.length} of ${count} events`);
      events.push(...batch.events);
      const last = batch.events.at(-1);
      if (last !== undefined) assert.ok(batch.revision >= revisionOf(last), "batch revision");
    }
    return events;
  }

  abort(): void {
    this.#controller.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort();
    await this.#iterator.return?.();
  }
}

export function revisionOf(event: StoreEvent): number {
  return event.type === "put" ? event.entry.modRevision : event.revision;
}

function below(prefix: string): (event: StoreEvent) => boolean {
  return (event) => (event.type === "put" ? event.entry.key : event.key).startsWith(prefix);
}
