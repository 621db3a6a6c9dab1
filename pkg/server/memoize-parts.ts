/**
 * A fold over lists of values: `make` runs once per list of identical parts (same values, same order),
 * and its result is kept as long as all of them live. `make` must be pure. Two catalogs that serve the
 * same kinds in a group version share its documents, so adding one custom resource rebuilds only its own.
 */
export function memoizeParts<P extends object, V>(
  make: (parts: readonly P[]) => V,
): (parts: readonly P[]) => V {
  const root: Branch<P, V> = { next: new WeakMap(), made: undefined };
  return (parts) => {
    let branch = root;
    for (const part of parts) {
      let next = branch.next.get(part);
      if (next === undefined) {
        next = { next: new WeakMap(), made: undefined };
        branch.next.set(part, next);
      }
      branch = next;
    }
    branch.made ??= { value: make(parts) };
    return branch.made.value;
  };
}

/** A trie over identities: the path from the root is the list of parts. */
interface Branch<P extends object, V> {
  readonly next: WeakMap<P, Branch<P, V>>;
  made: { readonly value: V } | undefined;
}
