/**
 * Coalesces concurrent linearizable reads: callers before the start of a read share its result, and no
 * caller receives the result of a read that started before its call. One read runs at a time.
 *
 *     call A  read 1 starts  call B, call C  read 1 ends (A)  read 2 starts  read 2 ends (B, C)
 */
export class CoalescedRead<T> {
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;
  readonly #read: () => Promise<T>;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  read(): Promise<T> {
    this.#next ??= this.#queue();
    return this.#next;
  }

  async #queue(): Promise<T> {
    // Even if no read runs, later callers in this turn of the event loop may join.
    await this.#running;
    this.#next = undefined;
    const read = this.#read();
    this.#running = read.catch(() => {});
    return read;
  }
}
