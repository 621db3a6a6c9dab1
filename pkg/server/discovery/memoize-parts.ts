import type { Catalog } from "#meta";

/**
 * Keeps the result of `make` for a list of identical parts (same values, same order) as long as
 * all of
 * them live; `make` must depend on nothing else. Two catalogs that serve the same kinds in a group
 * version share its documents, so adding one custom resource builds only its own.
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

/** A trie over identities: the path from the root is the list of parts. */
interface Branch<V> {
  readonly next: WeakMap<object, Branch<V>>;
  made: { readonly value: V } | undefined;
}

/** Keeps the result of `make` as long as the contents of the catalog are what they are. */
export function memoizeContent<V>(make: (catalog: Catalog) => V): (catalog: Catalog) => V {
  const made = new WeakMap<object, { readonly value: V }>();
  return (catalog) => {
    let known = made.get(catalog.content);
    if (known === undefined) {
      known = { value: make(catalog) };
      made.set(catalog.content, known);
    }
    return known.value;
  };
}
