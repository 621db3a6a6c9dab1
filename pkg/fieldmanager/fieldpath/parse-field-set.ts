import { sliceLength, type Slices } from "#base";
import { canonicalElement, compareElements, FieldSetError, selfKey } from "./path-element.ts";
import {
  contentsOf,
  type Draft,
  emptySet,
  type FieldSet,
  hasInner,
  inner,
  isEmptySet,
  isMember,
  leaf,
  nodeOf,
} from "./set.ts";
import { inOrderInSlices } from "./set-in-slices.ts";

/**
 * Decodes FieldsV1: path elements are made canonical and sorted, unknown kinds of elements dropped. A
 * value that is canonical and sorted already, like all that servers write, is returned unchanged.
 * `levels` is the number of levels that may have large nodes, which are checked and sorted in slices.
 *
 * @throws FieldSetError
 */
export function* parseFieldSet(value: unknown, levels = 0): Slices<FieldSet> {
  if (value === null || value === undefined) return emptySet;
  if (knownSets.has(value)) return value as FieldSet;
  const isOrdered = levels > 0 ? yield* isCanonicalInSlices(value, levels) : isCanonical(value);
  if (isOrdered && !(selfKey in (value as FieldSet))) {
    knownSets.add(value);
    return value as FieldSet;
  }
  yield;
  const contents = contentsOf(parseNode(value));
  yield;
  return yield* inOrderInSlices(contents, levels);
}

/** Values that were found canonical: writes decode the same objects of the watch cache repeatedly. */
const knownSets = new WeakSet<WeakKey>();

function isCanonical(value: unknown): value is FieldSet {
  if (!isNode(value)) return false;
  let last: string | undefined;
  for (const text in value) {
    const inner = value[text];
    if (!isCanonicalElement(last, text, inner) || !isCanonical(inner)) return false;
    last = text;
  }
  return last !== selfKey;
}

/** As `isCanonical`, in slices. */
function* isCanonicalInSlices(value: unknown, levels: number): Slices<boolean> {
  if (levels === 0 || !isNode(value)) return isCanonical(value);
  const elements = Object.keys(value);
  for (const [index, text] of elements.entries()) {
    if (index % sliceLength === 0) yield;
    const inner = value[text];
    if (!isCanonicalElement(elements[index - 1], text, inner)) return false;
    const isBelow = levels > 1 ? yield* isCanonicalInSlices(inner, levels - 1) : isCanonical(inner);
    if (!isBelow) return false;
  }
  return elements.at(-1) !== selfKey;
}

function isNode(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an element is canonical and after the last one; SELF is the first and has nothing below. */
function isCanonicalElement(last: string | undefined, text: string, inner: unknown): boolean {
  if (text === selfKey) return last === undefined && isNode(inner) && isEmptySet(inner as FieldSet);
  if (last !== undefined && compareElements(last, text) >= 0) return false;
  return canonicalElement(text) === text;
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
    if (text === selfKey) {
      self = true;
      continue;
    }
    const element = canonicalElement(text);
    if (element === undefined) continue;
    const node = parseNode(source[text]);
    below ??= {};
    const before = inner(below, element);
    below[element] = before === undefined ? node : mergeDuplicates(before, node);
  }
  if (below === undefined) return leaf;
  return self ? { [selfKey]: leaf, ...below } : below;
}

/**
 * Merges the nodes of one element that the input names in two notations: a member if either is, with
 * the inner nodes of the last that has some.
 */
function mergeDuplicates(before: FieldSet, node: FieldSet): FieldSet {
  const below = contentsOf(hasInner(node) ? node : before);
  return nodeOf(isMember(before) || isMember(node), below) as FieldSet;
}
