import type { Catalog } from "#meta";

/**
 * Memoizes `make` by the identities of `parts` in order, until one of them is garbage-collected; `make`
 * must depend on nothing else. Catalogs with the same kinds in a group version share its documents, so a
 * new custom resource builds only those of its own group version.
 */
export function memoizeParts<V>(): (parts: readonly object[], make: () => V) => V {
  const root: Branch<V> = { next: new WeakMap(), made: undefined };
  return (parts, make) => {
    let branch = root;
    for (const part of parts) {
      let next = branch.next.get(part);
      if (next === undefined) {
        next = { next: new WeakMap(), made: undefined };
        branch.next.set(part, next);
      }
      branch = next;
    }
    branch.made ??= { value: make() };
    return branch.made.value;
  };
}

/** A function that calls `make` once, on its first call. */
export function lazily<V>(make: () => V): () => V {
  let made: { readonly value: V } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** A node of a trie of object identities: the path from the root is the list of parts. */
interface Branch<V> {
  readonly next: WeakMap<object, Branch<V>>;
  made: { readonly value: V } | undefined;
}

/** Memoizes `make` by the content of the catalog. */
export function memoizeContent<V>(make: (catalog: Catalog) => V): (catalog: Catalog) => V {
  const made = new WeakMap<object, { readonly value: V }>();
  return (catalog) => {
    let entry = made.get(catalog.content);
    if (entry === undefined) {
      entry = { value: make(catalog) };
      made.set(catalog.content, entry);
    }
    return entry.value;
  };
}
