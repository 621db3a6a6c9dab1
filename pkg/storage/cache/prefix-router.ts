/**
 * Maps keys to values by registered prefix. Prefixes end with a slash, so that a lookup takes one map
 * access per slash, regardless of the number of prefixes.
 */
export class PrefixRouter<T> {
  readonly #byPrefix = new Map<string, T>();
  /** Maximum number of slashes in a prefix. */
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
      const value = this.#byPrefix.get(key.slice(0, slash + 1));
      if (value !== undefined) return value;
    }
    return undefined;
  }
}
