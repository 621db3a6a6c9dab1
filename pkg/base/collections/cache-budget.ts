import { assert } from "../assert.ts";

/** Cached data that its owner can recompute after an eviction. */
export interface Evictable {
  evict(): void;
}

/**
 * One byte limit for the cached data of many owners. When the total exceeds the limit, the oldest
 * data are evicted first.
 */
export class CacheBudget {
  readonly #limit: number;
  #cached: Evictable[] = [];
  #sizes: number[] = [];
  /** Index of the oldest. */
  #first = 0;
  #bytes = 0;

  constructor(limitBytes: number) {
    assert(limitBytes >= 0, "a limit is not negative");
    this.#limit = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Evicts `cached` at once if it alone exceeds the limit. */
  add(cached: Evictable, bytes: number): void {
    this.#cached.push(cached);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#limit && this.#first < this.#cached.length) {
      this.#bytes -= this.#sizes[this.#first]!;
      this.#cached[this.#first]!.evict();
      this.#first += 1;
    }
    if (this.#first < 1024 || this.#first * 2 < this.#cached.length) return;
    this.#cached = this.#cached.slice(this.#first);
    this.#sizes = this.#sizes.slice(this.#first);
    this.#first = 0;
  }
}
