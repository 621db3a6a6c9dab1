import { assert } from "../assert.ts";

/** Something that can be made again. */
export interface Kept {
  forget(): void;
}

/**
 * A bound on what is kept only to save work: when all of it together has more bytes than the limit,
 * the eldest is told to forget.
 */
export class Keeper {
  readonly #limit: number;
  #kept: Kept[] = [];
  #sizes: number[] = [];
  /** Index of the eldest. */
  #first = 0;
  #bytes = 0;

  constructor(limitBytes: number) {
    assert(limitBytes >= 0, "a limit is not negative");
    this.#limit = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  keep(kept: Kept, bytes: number): void {
    this.#kept.push(kept);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#limit && this.#first < this.#kept.length) {
      this.#bytes -= this.#sizes[this.#first]!;
      this.#kept[this.#first]!.forget();
      this.#first += 1;
    }
    if (this.#first < 1024 || this.#first * 2 < this.#kept.length) return;
    this.#kept = this.#kept.slice(this.#first);
    this.#sizes = this.#sizes.slice(this.#first);
    this.#first = 0;
  }
}
