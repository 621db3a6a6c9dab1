/**
 * Finds what is registered for the prefix of a key. Prefixes end with a slash, and so a key is
 * compared with one prefix per slash, however many are registered.
 */
export class PrefixRouter<T> {
  readonly #byPrefix = new Map<string, T>();
  /** Slashes in the longest prefix. */
  #depth = 0;

  get values(): Iterable<T> {
    return this.#byPrefix.values();
  }

  get(prefix: string): T | undefined {
    return this.#byPrefix.get(prefix);
  }

  set(prefix: string, value: T): void {
    this.#byPrefix.set(prefix, value);
    this.#depth = Math.max(this.#depth, prefix.split("/").length - 1);
  }

  /** The value of the shortest registered prefix of the key. */
  find(key: string): T | undefined {
    let slash = 0;
    for (let depth = 1; depth < this.#depth; depth++) {
      slash = key.indexOf("/", slash + 1);
      if (slash < 0) return undefined;
      const found = this.#byPrefix.get(key.slice(0, slash + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
