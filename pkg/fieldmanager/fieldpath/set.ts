import type { Slices } from "#base";
import {
  canonicalElement,
  compareElements,
  FieldSetError,
  type PathElement,
  SELF,
} from "./path-element.ts";

/**
 * A set of field paths in the very shape of FieldsV1, so that reading and writing one costs nothing
 * but a check: objects nest by path element, a member without members below is `{}`, and a member
 * with some has `.` among them.
 *
 * Example: `{"f:data":{".":{},"f:a":{}},"f:spec":{"f:x":{}}}` has the members data, data.a and
 * spec.x, but not spec.
 *
 * Sets are values: no function changes one, and results share what did not change. The outermost
 * object is no member of anything, so `{}` there is the empty set.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

type Draft = Record<PathElement, FieldSet>;

export const emptySet: FieldSet = Object.freeze({});

/** A member with nothing below; the same value as the empty set, in another place. */
export const leaf: FieldSet = emptySet;

export function isEmptySet(set: FieldSet): boolean {
  for (const _element in set) return false;
  return true;
}

/** Whether the path to this node is itself a member. */
export function isMember(node: FieldSet): boolean {
  return SELF in node || isEmptySet(node);
}

/** Whether the node has members below. */
export function hasInner(node: FieldSet): boolean {
  for (const element in node) if (element !== SELF) return true;
  return false;
}

/** A node of its parts; undefined if there is nothing to keep. `inner` must not have SELF. */
export function nodeOf(self: boolean, inner: FieldSet | undefined): FieldSet | undefined {
  if (inner === undefined || isEmptySet(inner)) return self ? leaf : undefined;
  return self ? { [SELF]: leaf, ...inner } : inner;
}

/** The set of some paths. */
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

function inner(set: FieldSet, element: PathElement): FieldSet | undefined {
  return element !== SELF && Object.hasOwn(set, element) ? set[element] : undefined;
}

/** Members of either. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  return unionWith(left, right, false);
}

/** The mark of membership is set in the same copy: one of a large set takes long. */
function unionWith(left: FieldSet, right: FieldSet, self: boolean): FieldSet {
  if (left === right || right === emptySet) return left;
  if (isEmptySet(left)) return right;
  let draft: Draft | undefined;
  for (const element in right) {
    if (element === SELF) continue;
    const theirs = right[element] as FieldSet;
    const mine = inner(left, element);
    const both = mine === undefined ? theirs : unionOfNodes(mine, theirs);
    if (both === mine) continue;
    draft ??= self ? { [SELF]: leaf, ...left } : { ...left };
    draft[element] = both;
  }
  return draft ?? left;
}

export function unionOfNodes(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  const self = SELF in left || SELF in right || isEmptySet(left) || isEmptySet(right);
  const below = unionWith(left, right, self);
  if (!self || SELF in below) return below;
  return nodeOf(true, below) as FieldSet;
}

/** Members of any. Takes time by the size of all together. */
export function unionOfAll(sets: readonly FieldSet[]): FieldSet {
  if (sets.length < 2) return sets[0] ?? emptySet;
  const groups = new Map<PathElement, FieldSet[]>();
  for (const set of sets) {
    for (const element in set) {
      if (element === SELF) continue;
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

/** Members of `left` that are none of `right`; what lies below a member is a matter of its own. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return without(left, right, false);
}

/** Members of `left` that neither are members of `right` nor lie below one. */
export function recursiveDifference(left: FieldSet, right: FieldSet): FieldSet {
  return without(left, right, true);
}

function without(left: FieldSet, right: FieldSet, recursive: boolean): FieldSet {
  const changed = changedNodes(left, right, recursive);
  return changed === undefined ? left : (copyWith(left, changed, false) ?? emptySet);
}

function nodeWithout(mine: FieldSet, theirs: FieldSet, recursive: boolean): FieldSet | undefined {
  if (recursive && isMember(theirs)) return undefined;
  const changed = changedNodes(mine, theirs, recursive);
  // Nodes with a node in common are not empty; whether a large one is empty takes long to see.
  const isIn = (node: FieldSet): boolean =>
    SELF in node || (changed === undefined && isEmptySet(node));
  const wasMember = isIn(mine);
  const self = wasMember && !isIn(theirs);
  if (changed === undefined && self === wasMember) return mine;
  return copyWith(mine, changed ?? noNodes, self);
}

/** What replaces a node; undefined if nothing of it stays. */
type Replacements = ReadonlyMap<PathElement, FieldSet | undefined>;

const noNodes: Replacements = new Map();

/** The nodes directly below `left` from which `right` takes something; undefined without any. */
function changedNodes(
  left: FieldSet,
  right: FieldSet,
  recursive: boolean,
): Replacements | undefined {
  let changed: Map<PathElement, FieldSet | undefined> | undefined;
  for (const element in right) {
    const mine = inner(left, element);
    if (mine === undefined) continue;
    const rest = nodeWithout(mine, right[element] as FieldSet, recursive);
    if (rest !== mine) (changed ??= new Map()).set(element, rest);
  }
  return changed;
}

/** A node with some nodes below replaced; undefined if nothing stays. */
function copyWith(node: FieldSet, changed: Replacements, self: boolean): FieldSet | undefined {
  // A copy of what stays: deleting from an object would make it slow to read.
  let draft: Draft | undefined;
  for (const element in node) {
    if (element === SELF) continue;
    const below = changed.has(element) ? changed.get(element) : node[element];
    if (below === undefined) continue;
    draft ??= self ? { [SELF]: leaf } : {};
    draft[element] = below;
  }
  return draft ?? (self ? leaf : undefined);
}

/** The node without the mark of its own membership. */
function contentsOf(node: FieldSet): FieldSet {
  if (!(SELF in node)) return node;
  const { [SELF]: _self, ...below } = node;
  return below;
}

/** Members of both. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return intersectionWith(left, right, false);
}

/** `emptySet` for nothing in common below, and only then; otherwise with the mark of membership if `self`. */
function intersectionWith(left: FieldSet, right: FieldSet, self: boolean): FieldSet {
  let draft: Draft | undefined;
  // Of the left one, which in what is asked for many managers is the smaller.
  for (const element in left) {
    const theirs = inner(right, element);
    if (theirs === undefined) continue;
    const mine = left[element] as FieldSet;
    const below = intersectionWith(mine, theirs, SELF in mine && SELF in theirs);
    if (below === emptySet && !(isMember(mine) && isMember(theirs))) continue;
    draft ??= self ? { [SELF]: leaf } : {};
    draft[element] = below;
  }
  return draft ?? emptySet;
}

export function isSubset(part: FieldSet, whole: FieldSet): boolean {
  if (part === whole) return true;
  for (const element in part) {
    if (element === SELF) continue;
    const mine = part[element] as FieldSet;
    const theirs = inner(whole, element);
    if (theirs === undefined) return false;
    if (isMember(mine) && !isMember(theirs)) return false;
    if (!isSubset(mine, theirs)) return false;
  }
  return true;
}

export function isSameSet(left: FieldSet, right: FieldSet): boolean {
  return left === right || (isSubset(left, right) && isSubset(right, left));
}

/** Every member's path: at each level the members first, then what lies below, both in order. */
export function pathsOf(set: FieldSet): PathElement[][] {
  const paths: PathElement[][] = [];
  collectPaths(set, [], paths);
  return paths;
}

function collectPaths(set: FieldSet, at: readonly PathElement[], paths: PathElement[][]): void {
  const elements = Object.keys(set).filter((element) => element !== SELF);
  elements.sort(compareElements);
  for (const element of elements) {
    if (isMember(set[element] as FieldSet)) paths.push([...at, element]);
  }
  for (const element of elements) collectPaths(set[element] as FieldSet, [...at, element], paths);
}

/** Steps to fields, `*` for any; everything below the last step is included. */
export type Pattern = readonly PathElement[];

/** Members on the way of a pattern or below one. */
export function onlyMatching(set: FieldSet, patterns: readonly Pattern[]): FieldSet {
  const draft: Draft = {};
  for (const element in set) {
    if (element === SELF) continue;
    const hit = patterns.filter(([first]) => first === "*" || first === element);
    if (hit.length === 0) continue;
    const node = set[element] as FieldSet;
    const rest = hit.map((pattern) => pattern.slice(1));
    const below = rest.some((pattern) => pattern.length === 0)
      ? contentsOf(node)
      : onlyMatching(node, rest);
    const kept = nodeOf(isMember(node), below);
    if (kept !== undefined) draft[element] = kept;
  }
  return draft;
}

/**
 * Reads FieldsV1: texts brought into canonical form and order, unknown kinds of steps dropped. What
 * is written so already, as all that servers wrote, is the set itself.
 *
 * @throws FieldSetError
 */
export function* parseFieldSet(value: unknown): Slices<FieldSet> {
  if (value === null || value === undefined) return emptySet;
  if (checked.has(value)) return value as FieldSet;
  if (isWritten(value) && !(SELF in value)) {
    checked.add(value);
    return value;
  }
  yield;
  const contents = contentsOf(parseNode(value));
  yield;
  return inOrder(contents);
}

/** Values that were found to be sets: the objects of the cache are read by many writes. */
const checked = new WeakSet<WeakKey>();

function isWritten(value: unknown): value is FieldSet {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const source = value as Readonly<Record<string, unknown>>;
  let last: string | undefined;
  for (const text in source) {
    const inner = source[text];
    if (text === SELF) {
      if (last !== undefined || !isWritten(inner) || !isEmptySet(inner)) return false;
    } else {
      if (last !== undefined && compareElements(last, text) >= 0) return false;
      if (canonicalElement(text) !== text || !isWritten(inner)) return false;
    }
    last = text;
  }
  return last !== SELF;
}

function parseNode(value: unknown): FieldSet {
  if (value === null) return leaf;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new FieldSetError("a field set must be an object");
  }
  let below: Draft | undefined;
  let self = false;
  const source = value as Readonly<Record<string, unknown>>;
  for (const text in source) {
    if (text === SELF) {
      self = true;
      continue;
    }
    const element = canonicalElement(text);
    if (element === undefined) continue;
    const node = parseNode(source[text]);
    below ??= {};
    const before = inner(below, element);
    below[element] = before === undefined ? node : again(before, node);
  }
  if (below === undefined) return leaf;
  return self ? { [SELF]: leaf, ...below } : below;
}

/** One step given twice in different spelling: memberships add up, the last contents count. */
function again(before: FieldSet, node: FieldSet): FieldSet {
  const below = contentsOf(hasInner(node) ? node : before);
  return nodeOf(isMember(before) || isMember(node), below) as FieldSet;
}

/** The same set with its steps in order at every level; itself if they are. */
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
