/** Operations on sets in slices: some nodes of the first levels may have tens of thousands of elements. */
import { sliceLength, type Slices, sortInSlices } from "#base";
import { compareElements, elementComparer, type PathElement, selfKey } from "./path-element.ts";
import {
  difference,
  type Draft,
  emptySet,
  type FieldSet,
  inner,
  inOrder,
  intersection,
  isMember,
  isSubset,
  leaf,
  nodesInCommon,
  nodeWithout,
  union,
  unionOfNodes,
} from "./set.ts";

type Pair = readonly [left: FieldSet, right: FieldSet];

interface Operation {
  /** The operation on sets without large nodes. */
  readonly atOnce: (left: FieldSet, right: FieldSet) => FieldSet;
  /** As `atOnce`, on two nodes of one element. */
  readonly nodes: (left: FieldSet, right: FieldSet) => FieldSet | undefined;
  /** Whether the result has the elements of only the left, of only the right operand. */
  readonly keeps: readonly [left: boolean, right: boolean];
  readonly isMember: (left: boolean, right: boolean) => boolean;
}

const unionOperation: Operation = {
  atOnce: union,
  nodes: unionOfNodes,
  keeps: [true, true],
  isMember: (left, right) => left || right,
};

const differenceOperation: Operation = {
  atOnce: difference,
  nodes: (left, right) => nodeWithout(left, right, false),
  keeps: [true, false],
  isMember: (left, right) => left && !right,
};

const intersectionOperation: Operation = {
  atOnce: intersection,
  nodes: nodesInCommon,
  keeps: [false, false],
  isMember: (left, right) => left && right,
};

/**
 * An operation on two sets, of which `levels` levels are processed in slices; 0 if neither set has large
 * nodes, for which generators would take twice the time.
 */
type SlicedOperation = (left: FieldSet, right: FieldSet, levels: number) => Slices<FieldSet>;

export const unionInSlices = inSlices(unionOperation);
export const differenceInSlices = inSlices(differenceOperation);
export const intersectionInSlices = inSlices(intersectionOperation);

function inSlices(operation: Operation): SlicedOperation {
  return function* (left, right, levels) {
    if (levels === 0) return operation.atOnce(left, right);
    return (yield* combine(operation, [left, right], { levels, isRoot: true })) ?? emptySet;
  };
}

interface Level {
  /** Levels from this one on that are processed in slices. */
  readonly levels: number;
  /** The root of a set is not a member. */
  readonly isRoot: boolean;
}

/** The result for two nodes; undefined if it is empty. */
function* combine(
  operation: Operation,
  [left, right]: Pair,
  { levels, isRoot }: Level,
): Slices<FieldSet | undefined> {
  const leftElements = Object.keys(left);
  yield;
  const rightElements = Object.keys(right);
  yield;
  const was = !isRoot && isMemberWith(left, leftElements);
  const self = !isRoot && operation.isMember(was, isMemberWith(right, rightElements));
  const [keepsLeft, keepsRight] = operation.keeps;
  const draft: Draft = self ? { [selfKey]: leaf } : {};
  let isSame = self === was;
  let count = 0;
  let size = 0;
  for (const element of leftElements) {
    if (++count % sliceLength === 0) yield;
    if (element === selfKey) continue;
    const before = left[element] as FieldSet;
    const other = inner(right, element);
    let after: FieldSet | undefined;
    if (other === undefined) after = keepsLeft ? before : undefined;
    else if (levels === 1 || (isLeaf(before) && isLeaf(other))) {
      after = operation.nodes(before, other);
    } else {
      after = yield* combine(operation, [before, other], { levels: levels - 1, isRoot: false });
    }
    if (after !== before) isSame = false;
    if (after === undefined) continue;
    draft[element] = after;
    size++;
  }
  for (const element of keepsRight ? rightElements : []) {
    if (++count % sliceLength === 0) yield;
    if (element === selfKey || inner(left, element) !== undefined) continue;
    draft[element] = right[element] as FieldSet;
    isSame = false;
    size++;
  }
  if (isSame) return left;
  if (size > 0) return draft;
  return self ? leaf : undefined;
}

/** `isMember` of a node whose elements are listed already: listing those of a large one takes long. */
function isMemberWith(node: FieldSet, elements: readonly PathElement[]): boolean {
  return elements.length === 0 || selfKey in node;
}

/** Whether the node surely has no members below it; only the shared leaf is recognized. */
function isLeaf(node: FieldSet): boolean {
  return node === leaf;
}

/** As `isSubset`; `levels` as in `SlicedOperation`. */
export function* isSubsetInSlices(
  part: FieldSet,
  whole: FieldSet,
  levels: number,
): Slices<boolean> {
  if (levels === 0 || part === whole) return isSubset(part, whole);
  yield;
  let count = 0;
  for (const element of Object.keys(part)) {
    if (++count % sliceLength === 0) yield;
    if (element === selfKey) continue;
    const mine = part[element] as FieldSet;
    const theirs = inner(whole, element);
    if (theirs === undefined) return false;
    if (mine === theirs) continue;
    if (isMember(mine) && !isMember(theirs)) return false;
    if (isLeaf(mine)) continue;
    const isBelow =
      levels > 1 ? yield* isSubsetInSlices(mine, theirs, levels - 1) : isSubset(mine, theirs);
    if (!isBelow) return false;
  }
  return true;
}

/** Whether two sets have the same members; `levels` as in `SlicedOperation`. */
export function* isSameSetInSlices(
  left: FieldSet,
  right: FieldSet,
  levels: number,
): Slices<boolean> {
  if (left === right) return true;
  if (!(yield* isSubsetInSlices(left, right, levels))) return false;
  return yield* isSubsetInSlices(right, left, levels);
}

/** As `inOrder`; `levels` as in `SlicedOperation`. */
export function* inOrderInSlices(set: FieldSet, levels: number): Slices<FieldSet> {
  if (levels === 0 || set === leaf) return inOrder(set);
  const elements = Object.keys(set);
  yield;
  let isSame = true;
  const draft: Draft = {};
  for (const [index, element] of elements.entries()) {
    if (index % sliceLength === 0) yield;
    const node = set[element] as FieldSet;
    const ordered = levels > 1 ? yield* inOrderInSlices(node, levels - 1) : inOrder(node);
    const last = elements[index - 1];
    if (last !== undefined && compareElements(last, element) >= 0) isSame = false;
    if (ordered !== node) isSame = false;
    draft[element] = ordered;
  }
  if (isSame) return set;
  const sorted: Draft = {};
  const order = yield* sortInSlices(elements, elementComparer());
  for (const [index, element] of order.entries()) {
    if (index % sliceLength === 0) yield;
    sorted[element] = draft[element] as FieldSet;
  }
  return sorted;
}
