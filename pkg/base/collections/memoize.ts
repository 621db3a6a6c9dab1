/**
 * A fold over declarations: `make` runs once per declaration value and its result is kept as long
 * as the declaration lives. `make` must be pure, so whether a result was kept is not observable.
 */
export function memoize<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let entry = made.get(key);
    if (entry === undefined) {
      entry = { value: make(key) };
      made.set(key, entry);
    }
    return entry.value;
  };
}
