import { assert } from "../assert.ts";

/**
 * A bounded queue between a producer that does not block and one consumer that iterates. `push` returns
 * false if the queue is full; the producer then usually calls `fail`.
 */
export class AsyncQueue<T> implements AsyncIterableIterator<T> {
  readonly #limit: number;
  readonly #onReturn: (() => void) | undefined;
  #items: T[] = [];
  #taken = 0;
  #ended = false;
  #fault: { readonly error: unknown } | undefined;
  #waiting: Waiting<T> | undefined;

  /** At most `limit` items wait. `onReturn` is called once when the consumer stops iterating. */
  constructor(limit: number, onReturn?: () => void) {
    assert(limit >= 1, "a queue holds at least one item");
    this.#limit = limit;
    this.#onReturn = onReturn;
  }

  /** Number of queued items. */
  get size(): number {
    return this.#items.length - this.#taken;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Appends an item; returns false, without appending, if the queue is full or has ended. */
  push(item: T): boolean {
    if (this.#ended) return false;
    if (this.#waiting !== undefined) {
      this.#settle()!.resolve({ done: false, value: item });
      return true;
    }
    if (this.size >= this.#limit) return false;
    this.#items.push(item);
    return true;
  }

  /** Ends the iteration after the queued items. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#settle()?.resolve({ done: true, value: undefined });
  }

  /** Drops the queued items; the consumer's next step throws `error`, once. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#items = [];
    this.#taken = 0;
    const waiting = this.#settle();
    if (waiting !== undefined) waiting.reject(error);
    else this.#fault = { error };
  }

  next(): Promise<IteratorResult<T, undefined>> {
    assert(this.#waiting === undefined, "one consumer at a time");
    if (this.size > 0) return Promise.resolve({ done: false, value: this.#shift() });
    if (this.#fault !== undefined) {
      const { error } = this.#fault;
      this.#fault = undefined;
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#items = [];
    this.#taken = 0;
    this.end();
    this.#onReturn?.();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #settle(): Waiting<T> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  /**
   * Takes from the front in constant time: the taken part is cut off when it is half of the array.
   */
  #shift(): T {
    const item = this.#items[this.#taken]!;
    this.#taken += 1;
    if (this.#taken * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}

interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}
