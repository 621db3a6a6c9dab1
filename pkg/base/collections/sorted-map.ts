import { assert } from "../assert.ts";
import { sortable, unsortable } from "./key-order.ts";
import {
  at,
  build,
  deleteFrom,
  insertInto,
  leavesFrom,
  locate,
  lowerBound,
  type Node,
  rankIn,
  maxNodeWidth,
} from "./sorted-map-node.ts";

/**
 * A persistent sorted map: `set` and `delete` return a new map that shares all nodes except one path
 * with the old one, so that a snapshot is a reference. Keys are ordered by their UTF-8 bytes. Operations
 * on one key, `rank` and `count` are O(log n).
 *
 * Example: m = {a:1, b:2}; n = m.set("c", 3).delete("a"); m still has a and b, n has b and c.
 */
export class SortedMap<V> {
  readonly #root: Node<V>;

  private constructor(root: Node<V>) {
    this.#root = root;
  }

  static empty<V>(): SortedMap<V> {
    return new SortedMap<V>({ leaf: true, keys: [], values: [], size: 0 });
  }

  /** Creates a map from entries in any order; of duplicate keys the last wins. */
  static from<V>(entries: Iterable<readonly [string, V]>): SortedMap<V> {
    const pairs = Array.from(entries, ([name, value], index) => {
      return { key: sortable(name), value, index };
    });
    pairs.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.index - b.index));
    const distinct = pairs.filter((pair, i) => pair.key !== pairs[i + 1]?.key);
    const keys = distinct.map((pair) => pair.key);
    return new SortedMap<V>(
      build(
        keys,
        distinct.map((pair) => pair.value),
      ),
    );
  }

  get size(): number {
    return this.#root.size;
  }

  get(key: string): V | undefined {
    const found = locate(this.#root, sortable(key));
    return found?.leaf.values[found.index];
  }

  has(key: string): boolean {
    return locate(this.#root, sortable(key)) !== undefined;
  }

  set(key: string, value: V): SortedMap<V> {
    const root = insertInto(this.#root, sortable(key), value);
    if (!Array.isArray(root)) return new SortedMap<V>(root);
    const keys = root.map((node) => node.keys[0]!);
    return new SortedMap<V>({ leaf: false, keys, children: root, size: this.#root.size + 1 });
  }

  /** Returns the same map if the key is absent. */
  delete(key: string): SortedMap<V> {
    const root = deleteFrom(this.#root, sortable(key));
    if (root === this.#root) return this;
    return new SortedMap<V>(!root.leaf && root.children.length === 1 ? root.children[0]! : root);
  }

  /** Number of keys before `key`, which may be absent. */
  rank(key: string): number {
    return rankIn(this.#root, sortable(key));
  }

  /** Number of keys in `from <= key < to`; absent bounds are open. */
  count(from?: string, to?: string): number {
    const start = from === undefined ? 0 : this.rank(from);
    const end = to === undefined ? this.size : this.rank(to);
    return Math.max(0, end - start);
  }

  /** The entry with exactly `index` keys before it. */
  at(index: number): readonly [string, V] | undefined {
    if (index < 0 || index >= this.size) return undefined;
    const { leaf, index: within } = at(this.#root, index);
    return [unsortable(leaf.keys[within]!), leaf.values[within]!];
  }

  /**
   * Entries in order, `from <= key < to`. The map cannot change meanwhile, so take all the time.
   */
  *entries(from?: string, to?: string): IterableIterator<[string, V]> {
    const end = to === undefined ? undefined : sortable(to);
    for (const { leaf, index } of leavesFrom(this.#root, sortable(from ?? ""))) {
      for (let i = index; i < leaf.keys.length; i++) {
        const key = leaf.keys[i]!;
        if (end !== undefined && key >= end) return;
        yield [unsortable(key), leaf.values[i]!];
      }
    }
  }

  /** The values of `from <= key < to` in order, `limit` at most (absent or 0 = all). */
  values(from?: string, to?: string, limit?: number): V[] {
    return this.runs(from, to, limit).flat();
  }

  /**
   * The same values in pieces, as the tree has them. Where a piece is a whole leaf, everyone is
   * given the same array until one of its values changes, so that what is made of it can be kept.
   */
  runs(from?: string, to?: string, limit?: number): (readonly V[])[] {
    const result: (readonly V[])[] = [];
    const end = to === undefined ? undefined : sortable(to);
    let left = limit === undefined || limit === 0 ? Infinity : limit;
    assert(left >= 0, "a limit is not negative");
    for (const { leaf, index } of leavesFrom(this.#root, sortable(from ?? ""))) {
      const { keys, values } = leaf;
      const isLast = end !== undefined && keys.length > 0 && keys[keys.length - 1]! >= end;
      const stop = Math.min(isLast ? lowerBound(keys, end) : keys.length, index + left);
      if (stop > index) {
        result.push(stop - index === keys.length ? values : values.slice(index, stop));
      }
      left -= stop - index;
      if (isLast || left <= 0) break;
    }
    return result;
  }

  [Symbol.iterator](): IterableIterator<[string, V]> {
    return this.entries();
  }

  /** Throws AssertionFailure unless the tree is well formed. For tests. */
  check(): void {
    checkNode(this.#root, true);
  }
}

/** Returns the depth of the node. */
function checkNode(node: Node<unknown>, isRoot: boolean): number {
  for (let i = 1; i < node.keys.length; i++) assert(node.keys[i - 1]! < node.keys[i]!, "order");
  assert(node.keys.length <= maxNodeWidth, "too wide");
  if (node.leaf) {
    assert(isRoot || node.keys.length > 0, "empty leaf");
    assert(node.size === node.keys.length && node.values.length === node.size, "leaf size");
    return 1;
  }
  assert(!isRoot || node.children.length > 1, "a root with one child");
  assert(node.keys.length === node.children.length, "a key for every child");
  assert(node.size === node.children.reduce((sum, child) => sum + child.size, 0), "size");
  const depths = node.children.map((child, i) => {
    assert(child.keys[0] === node.keys[i], "first key");
    return checkNode(child, false);
  });
  assert(new Set(depths).size === 1, "all leaves are equally deep");
  return depths[0]! + 1;
}
