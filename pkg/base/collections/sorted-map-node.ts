/**
 * The B+tree of SortedMap. Nodes are immutable once they are reachable. Keys are `sortable` strings,
 * whose order is JavaScript's `<`.
 */

/** Maximum number of entries of a leaf and children of an inner node. */
export const maxNodeWidth = 32;
/**
 * Minimum width; a narrower node is merged with a sibling. Low, so that alternating `set` and `delete`
 * do not split and merge repeatedly.
 */
const minNodeWidth = 8;

interface Leaf<V> {
  readonly leaf: true;
  readonly keys: readonly string[];
  readonly values: readonly V[];
  readonly size: number;
}

interface Inner<V> {
  readonly leaf: false;
  /** The first key below each child. */
  readonly keys: readonly string[];
  readonly children: readonly Node<V>[];
  /** Number of entries in the subtree. */
  readonly size: number;
}

export type Node<V> = Leaf<V> | Inner<V>;

/** A position in a leaf. */
export interface LeafPosition<V> {
  readonly leaf: Leaf<V>;
  readonly index: number;
}

export function locate<V>(root: Node<V>, key: string): LeafPosition<V> | undefined {
  let node = root;
  while (!node.leaf) node = node.children[childFor(node.keys, key)]!;
  const index = lowerBound(node.keys, key);
  return node.keys[index] === key ? { leaf: node, index } : undefined;
}

/** Inserts the entry; returns one node, or two after a split. */
export function insertInto<V>(node: Node<V>, key: string, value: V): Node<V> | Node<V>[] {
  if (node.leaf) return insertIntoLeaf(node, key, value);
  const i = childFor(node.keys, key);
  const child = node.children[i]!;
  const changed = insertInto(child, key, value);
  if (!Array.isArray(changed)) {
    const size = node.size + changed.size - child.size;
    const first = changed.keys[0]!;
    const keys = first === node.keys[i] ? node.keys : withAt(node.keys, i, first);
    return { leaf: false, keys, children: withAt(node.children, i, changed), size };
  }
  const children = node.children.toSpliced(i, 1, ...changed);
  if (children.length <= maxNodeWidth) return inner(children);
  const cut = splitPoint(children.length, i);
  return [inner(children.slice(0, cut)), inner(children.slice(cut))];
}

/** Deletes the key; returns the same node if it is absent. The result may be narrow or empty. */
export function deleteFrom<V>(node: Node<V>, key: string): Node<V> {
  if (node.leaf) {
    const index = lowerBound(node.keys, key);
    if (node.keys[index] !== key) return node;
    return leaf(node.keys.toSpliced(index, 1), node.values.toSpliced(index, 1));
  }
  const i = childFor(node.keys, key);
  const child = node.children[i]!;
  const changed = deleteFrom(child, key);
  if (changed === child) return node;
  if (changed.keys.length === 0) return inner(node.children.toSpliced(i, 1));
  if (changed.keys.length >= minNodeWidth || node.children.length === 1) {
    return inner(withAt(node.children, i, changed));
  }
  const left = i > 0 ? i - 1 : i;
  const pair = i > 0 ? [node.children[left]!, changed] : [changed, node.children[i + 1]!];
  const joined = join(pair[0]!, pair[1]!);
  return inner(node.children.toSpliced(left, 2, ...joined));
}

/** Number of keys before `key`. */
export function rankIn<V>(root: Node<V>, key: string): number {
  let node = root;
  let rank = 0;
  while (!node.leaf) {
    const i = childFor(node.keys, key);
    for (let before = 0; before < i; before++) rank += node.children[before]!.size;
    node = node.children[i]!;
  }
  return rank + lowerBound(node.keys, key);
}

/** The position of the entry with rank `index`, which must be below the root's size. */
export function at<V>(root: Node<V>, index: number): LeafPosition<V> {
  let node = root;
  let rest = index;
  while (!node.leaf) {
    let i = 0;
    while (rest >= node.children[i]!.size) rest -= node.children[i++]!.size;
    node = node.children[i]!;
  }
  return { leaf: node, index: rest };
}

/** The leaves from the first key >= `from`, each with its start index. */
export function* leavesFrom<V>(root: Node<V>, from: string): Generator<LeafPosition<V>> {
  const above: { readonly node: Inner<V>; next: number }[] = [];
  let node = root;
  while (!node.leaf) {
    const i = childFor(node.keys, from);
    above.push({ node, next: i + 1 });
    node = node.children[i]!;
  }
  yield { leaf: node, index: lowerBound(node.keys, from) };
  while (above.length > 0) {
    const top = above[above.length - 1]!;
    const child: Node<V> | undefined = top.node.children[top.next];
    if (child === undefined) above.pop();
    else {
      top.next += 1;
      if (child.leaf) yield { leaf: child, index: 0 };
      else above.push({ node: child, next: 0 });
    }
  }
}

/** Builds a tree from sorted, distinct keys in linear time. */
export function build<V>(keys: readonly string[], values: readonly V[]): Node<V> {
  let nodes: Node<V>[] = [];
  for (const [start, end] of evenly(keys.length)) {
    nodes.push(leaf(keys.slice(start, end), values.slice(start, end)));
  }
  while (nodes.length > 1) {
    const below = nodes;
    nodes = evenly(below.length).map(([start, end]) => inner(below.slice(start, end)));
  }
  return nodes[0] ?? leaf<V>([], []);
}

function insertIntoLeaf<V>(node: Leaf<V>, key: string, value: V): Node<V> | Node<V>[] {
  const i = lowerBound(node.keys, key);
  if (node.keys[i] === key) {
    return { leaf: true, keys: node.keys, values: withAt(node.values, i, value), size: node.size };
  }
  const keys = node.keys.toSpliced(i, 0, key);
  const values = node.values.toSpliced(i, 0, value);
  if (keys.length <= maxNodeWidth) return leaf(keys, values);
  return splitLeaf(keys, values, splitPoint(keys.length, i));
}

/** The middle; for insertions at the end it leaves a nearly full node, as for ascending keys. */
function splitPoint(length: number, changedAt: number): number {
  return changedAt >= length - 2 ? length - minNodeWidth : length >> 1;
}

function join<V>(left: Node<V>, right: Node<V>): Node<V>[] {
  if (left.leaf && right.leaf) {
    const keys = [...left.keys, ...right.keys];
    const values = [...left.values, ...right.values];
    if (keys.length <= maxNodeWidth) return [leaf(keys, values)];
    return splitLeaf(keys, values, keys.length >> 1);
  }
  const children = [...(left as Inner<V>).children, ...(right as Inner<V>).children];
  if (children.length <= maxNodeWidth) return [inner(children)];
  const cut = children.length >> 1;
  return [inner(children.slice(0, cut)), inner(children.slice(cut))];
}

function splitLeaf<V>(keys: readonly string[], values: readonly V[], cut: number): Leaf<V>[] {
  const left = leaf(keys.slice(0, cut), values.slice(0, cut));
  return [left, leaf(keys.slice(cut), values.slice(cut))];
}

function leaf<V>(keys: readonly string[], values: readonly V[]): Leaf<V> {
  return { leaf: true, keys, values, size: keys.length };
}

function inner<V>(children: readonly Node<V>[]): Inner<V> {
  let size = 0;
  for (const child of children) size += child.size;
  return { leaf: false, keys: children.map((child) => child.keys[0]!), children, size };
}

/** Spans of at most three quarters of WIDTH, so that the first insertions do not split. */
function evenly(length: number): [number, number][] {
  const pieces = Math.ceil(length / (maxNodeWidth * 0.75));
  return Array.from({ length: pieces }, (_, i) => [
    Math.floor((i * length) / pieces),
    Math.floor(((i + 1) * length) / pieces),
  ]);
}

/** The first index whose key is >= `key`. */
export function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Index of the child for `key`: the last whose first key is <= `key`, else the first.
 */
function childFor(keys: readonly string[], key: string): number {
  let low = 1;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function withAt<T>(items: readonly T[], index: number, item: T): T[] {
  const result = items.slice();
  result[index] = item;
  return result;
}
