/**
 * Coalesces concurrent linearizable reads. Callers that ask before a read starts share its result;
 * a caller never receives the result of a read that started before it asked. One read runs at a
 * time.
 *
 *     ask A   read 1 starts   ask B, ask C   read 1 ends (A)   read 2 starts   read 2 ends (B, C)
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
    // Even when no read runs, callers in the rest of this turn of the event loop may join.
    await this.#running;
    this.#next = undefined;
    const read = this.#read();
    this.#running = read.catch(() => {});
    return read;
  }
}
