/**
 * A group commit of reads: everyone who asks before a read starts shares it; nobody is given the
 * answer of a read that had started before they asked. One read runs at a time.
 *
 *     ask A   read 1 starts   ask B, ask C   read 1 ends (A)   read 2 starts   read 2 ends (B, C)
 */
export class GroupRead<T> {
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;
  readonly #read: () => Promise<T>;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  ask(): Promise<T> {
    this.#next ??= this.#queue();
    return this.#next;
  }

  async #queue(): Promise<T> {
    // Also without a read to wait for, the rest of this turn of the event loop may join.
    await this.#running;
    this.#next = undefined;
    const read = this.#read();
    this.#running = read.catch(() => {});
    return read;
  }
}
