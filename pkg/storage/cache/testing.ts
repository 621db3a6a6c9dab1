import { AsyncQueue } from "#base";
import type {
  Backend,
  RangeOptions,
  StoreFault,
  Transaction,
  WatchBatch,
  WatchOptions,
} from "../backend.ts";

/** Wraps a backend to delay and end its watches, and to fail its reads. */
export class FaultyBackend implements Backend {
  /** Fault of all reads; undefined = reads succeed. */
  down: StoreFault | undefined;
  /** Options of the calls of `range`. */
  readonly ranges: RangeOptions[] = [];
  gets = 0;
  /** Number of calls of `revision`. */
  revisions = 0;
  progressRequests = 0;
  readonly #inner: Backend;
  readonly #watches = new Set<AsyncQueue<WatchBatch>>();
  #gate: { readonly open: () => void; readonly opened: Promise<void> } | undefined;

  constructor(inner: Backend) {
    this.#inner = inner;
  }

  get oldest(): number {
    return this.#inner.oldest ?? 0;
  }

  /** Watches deliver nothing until `release`. */
  hold(): void {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    this.#gate ??= { open, opened };
  }

  release(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  /** Ends all watches with this fault. */
  cut(fault: StoreFault): void {
    for (const queue of this.#watches) queue.fail(fault);
    this.#watches.clear();
  }

  async get(key: string, options?: { readonly signal?: AbortSignal }): ReturnType<Backend["get"]> {
    this.gets += 1;
    this.#up();
    return this.#inner.get(key, options);
  }

  async range(options: RangeOptions): ReturnType<Backend["range"]> {
    this.ranges.push(options);
    this.#up();
    return this.#inner.range(options);
  }

  async txn(transaction: Transaction): ReturnType<Backend["txn"]> {
    return this.#inner.txn(transaction);
  }

  watch(options: WatchOptions): AsyncIterable<WatchBatch> {
    const queue = new AsyncQueue<WatchBatch>(100_000);
    this.#watches.add(queue);
    void this.#pass(options, queue);
    return queue;
  }

  requestProgress(): void {
    this.progressRequests += 1;
    this.#inner.requestProgress();
  }

  compact(revision: number): Promise<void> {
    return this.#inner.compact(revision);
  }

  async revision(signal?: AbortSignal): Promise<number> {
    this.revisions += 1;
    this.#up();
    return this.#inner.revision(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    await this.#inner[Symbol.asyncDispose]();
  }

  #up(): void {
    if (this.down !== undefined) throw this.down;
  }

  async #pass(options: WatchOptions, queue: AsyncQueue<WatchBatch>): Promise<void> {
    const ended = new AbortController();
    const signal = AbortSignal.any([options.signal, ended.signal]);
    try {
      for await (const batch of this.#inner.watch({ ...options, signal })) {
        await this.#opened();
        if (!queue.push(batch)) return ended.abort();
      }
      queue.end();
    } catch (error) {
      queue.fail(error);
    }
  }

  async #opened(): Promise<void> {
    await this.#gate?.opened;
    if (this.#gate !== undefined) await this.#opened();
  }
}
