import { compareElements, type PathElement, selfKey } from "./path-element.ts";

/**
 * A set of field paths in the layout of FieldsV1, so that decoding is a check and encoding is free:
 * objects nest by path element, a member without members below it is `{}`, and a member with some has
 * the key `.`.
 *
 * Example: `{"f:data":{".":{},"f:a":{}},"f:spec":{"f:x":{}}}` has the members data, data.a and
 * spec.x, but not spec.
 *
 * Sets are immutable, and results share unchanged nodes with the operands. The root is not a member,
 * so `{}` at the root is the empty set.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

export type Draft = Record<PathElement, FieldSet>;

export const emptySet: FieldSet = Object.freeze({});

/** A member without members below it; the same object as the empty set, which is only a root. */
export const leaf: FieldSet = emptySet;

export function isEmptySet(set: FieldSet): boolean {
  for (const _element in set) return false;
  return true;
}

/** Whether the path to this node is itself a member. */
export function isMember(node: FieldSet): boolean {
  return selfKey in node || isEmptySet(node);
}

/** Whether the node has members below it. */
export function hasInner(node: FieldSet): boolean {
  for (const element in node) if (element !== selfKey) return true;
  return false;
}

/** A node with `inner`, which must not have SELF, below it; a member if `self`. Undefined if empty. */
export function nodeOf(self: boolean, inner: FieldSet | undefined): FieldSet | undefined {
  if (inner === undefined || isEmptySet(inner)) return self ? leaf : undefined;
  return self ? { [selfKey]: leaf, ...inner } : inner;
}

/** The set of the paths. */
export function setOf(...paths: readonly (readonly PathElement[])[]): FieldSet {
  let set = emptySet;
  for (const path of paths) {
    let node = leaf;
    for (const element of path.toReversed()) node = { [element]: node };
    set = union(set, node);
  }
  return set;
}

export function hasPath(set: FieldSet, path: readonly PathElement[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    if (!Object.hasOwn(node, element)) return false;
    node = node[element];
    if (node === undefined) return false;
  }
  return isMember(node);
}

/** The node of an element other than SELF. */
export function inner(set: FieldSet, element: PathElement): FieldSet | undefined {
  return element !== selfKey && Object.hasOwn(set, element) ? set[element] : undefined;
}

/** Members of either set. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  return unionWith(left, right, false);
}

/** `self` adds SELF to the result in the same copy, since copying a large set takes long. */
function unionWith(left: FieldSet, right: FieldSet, self: boolean): FieldSet {
  if (left === right || right === emptySet) return left;
  if (isEmptySet(left)) return right;
  let draft: Draft | undefined;
  for (const element in right) {
    if (element === selfKey) continue;
    const theirs = right[element] as FieldSet;
    const mine = inner(left, element);
    const both = mine === undefined ? theirs : unionOfNodes(mine, theirs);
    if (both === mine) continue;
    draft ??= self ? { [selfKey]: leaf, ...left } : { ...left };
    draft[element] = both;
  }
  return draft ?? left;
}

export function unionOfNodes(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  const isLeaf = isEmptySet(left);
  if (isLeaf && isEmptySet(right)) return left;
  const self = selfKey in left || selfKey in right || isLeaf || isEmptySet(right);
  const below = unionWith(left, right, self);
  if (!self || selfKey in below) return below;
  return nodeOf(true, below) as FieldSet;
}

/** Members of any of the sets, in time linear in their total size. */
export function unionOfAll(sets: readonly FieldSet[]): FieldSet {
  if (sets.length < 2) return sets[0] ?? emptySet;
  const groups = new Map<PathElement, FieldSet[]>();
  for (const set of sets) {
    for (const element in set) {
      if (element === selfKey) continue;
      const node = set[element] as FieldSet;
      const group = groups.get(element);
      if (group === undefined) groups.set(element, [node]);
      else if (group.at(-1) !== node) group.push(node);
    }
  }
  const draft: Draft = {};
  for (const [element, nodes] of groups) {
    const below = contentsOf(unionOfAll(nodes));
    draft[element] = nodeOf(nodes.some(isMember), below) as FieldSet;
  }
  return draft;
}

/** Members of `left` that are not members of `right`; paths below a member of `right` remain. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return without(left, right, false);
}

/** Members of `left` that neither are members of `right` nor are below one. */
export function recursiveDifference(left: FieldSet, right: FieldSet): FieldSet {
  return without(left, right, true);
}

function without(left: FieldSet, right: FieldSet, recursive: boolean): FieldSet {
  const changed = changedNodes(left, right, recursive);
  return changed === undefined ? left : (copyWith(left, changed, false) ?? emptySet);
}

/** The remaining node; undefined if it is empty. */
export function nodeWithout(
  mine: FieldSet,
  theirs: FieldSet,
  recursive: boolean,
): FieldSet | undefined {
  if (recursive && isMember(theirs)) return undefined;
  const changed = changedNodes(mine, theirs, recursive);
  // `isMember`, without a look for inner elements where `changed` shows that both nodes have one.
  const isMemberNode = (node: FieldSet): boolean =>
    selfKey in node || (changed === undefined && isEmptySet(node));
  const wasMember = isMemberNode(mine);
  const self = wasMember && !isMemberNode(theirs);
  if (changed === undefined && self === wasMember) return mine;
  return copyWith(mine, changed ?? noReplacements, self);
}

/** The new nodes by element; undefined removes the node. */
type Replacements = ReadonlyMap<PathElement, FieldSet | undefined>;

const noReplacements: Replacements = new Map();

/** The nodes directly below `left` that change when `right` is subtracted; undefined if none do. */
function changedNodes(
  left: FieldSet,
  right: FieldSet,
  recursive: boolean,
): Replacements | undefined {
  let changed: Map<PathElement, FieldSet | undefined> | undefined;
  for (const element in right) {
    const mine = inner(left, element);
    if (mine === undefined) continue;
    const remainder = nodeWithout(mine, right[element] as FieldSet, recursive);
    if (remainder !== mine) (changed ??= new Map()).set(element, remainder);
  }
  return changed;
}

/** A copy of the node with some inner nodes replaced; undefined if it becomes empty. */
function copyWith(node: FieldSet, changed: Replacements, self: boolean): FieldSet | undefined {
  // Remaining keys are copied: `delete` would put the object into V8's slow dictionary mode.
  let draft: Draft | undefined;
  for (const element in node) {
    if (element === selfKey) continue;
    const below = changed.has(element) ? changed.get(element) : node[element];
    if (below === undefined) continue;
    draft ??= self ? { [selfKey]: leaf } : {};
    draft[element] = below;
  }
  return draft ?? (self ? leaf : undefined);
}

/** The node without SELF. */
export function contentsOf(node: FieldSet): FieldSet {
  if (!(selfKey in node)) return node;
  const { [selfKey]: _self, ...below } = node;
  return below;
}

/** Members of both sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return intersectionWith(left, right, false);
}

/** The common members of two nodes of one element; undefined if there are none. */
export function nodesInCommon(mine: FieldSet, theirs: FieldSet): FieldSet | undefined {
  const below = intersectionWith(mine, theirs, selfKey in mine && selfKey in theirs);
  return below === emptySet && !(isMember(mine) && isMember(theirs)) ? undefined : below;
}

/** Returns `emptySet` if and only if no path below is common; otherwise the result has SELF if `self`. */
function intersectionWith(left: FieldSet, right: FieldSet, self: boolean): FieldSet {
  let draft: Draft | undefined;
  // Iterates the left set, which is the smaller one where the sets of many managers are intersected.
  for (const element in left) {
    const theirs = inner(right, element);
    if (theirs === undefined) continue;
    const below = nodesInCommon(left[element] as FieldSet, theirs);
    if (below === undefined) continue;
    draft ??= self ? { [selfKey]: leaf } : {};
    draft[element] = below;
  }
  return draft ?? emptySet;
}

export function isSubset(part: FieldSet, whole: FieldSet): boolean {
  if (part === whole) return true;
  for (const element in part) {
    if (element === selfKey) continue;
    const mine = part[element] as FieldSet;
    const theirs = inner(whole, element);
    if (theirs === undefined) return false;
    if (isMember(mine) && !isMember(theirs)) return false;
    if (!isSubset(mine, theirs)) return false;
  }
  return true;
}

/** The paths of all members: at each level first the members, then the paths below them, each sorted. */
export function pathsOf(set: FieldSet): PathElement[][] {
  const paths: PathElement[][] = [];
  collectPaths(set, [], paths);
  return paths;
}

function collectPaths(set: FieldSet, at: readonly PathElement[], paths: PathElement[][]): void {
  const elements = Object.keys(set).filter((element) => element !== selfKey);
  elements.sort(compareElements);
  for (const element of elements) {
    if (isMember(set[element] as FieldSet)) paths.push([...at, element]);
  }
  for (const element of elements) collectPaths(set[element] as FieldSet, [...at, element], paths);
}

/** The set with the elements of every level sorted; the argument itself if they already are. */
export function inOrder(set: FieldSet): FieldSet {
  if (set === leaf) return set;
  const elements: PathElement[] = [];
  let draft: Draft | undefined;
  let isSorted = true;
  for (const element in set) {
    const last = elements.at(-1);
    if (last !== undefined && compareElements(last, element) >= 0) isSorted = false;
    elements.push(element);
    const node = set[element] as FieldSet;
    const ordered = inOrder(node);
    if (ordered !== node) (draft ??= { ...set })[element] = ordered;
  }
  if (isSorted) return draft ?? set;
  const sorted: Draft = {};
  for (const element of elements.sort(compareElements)) {
    sorted[element] = (draft ?? set)[element] as FieldSet;
  }
  return sorted;
}
