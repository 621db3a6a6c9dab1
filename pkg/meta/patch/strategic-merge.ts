import { assign, deepClone, deepCloneInSlices, deepEqual, type Slices } from "#base";
import { mergeRules, type StructType, type Type } from "#schema";
import { goString, goTypeOf, goValue } from "./go-value.ts";
import {
  checkDepth,
  isJsonObject,
  type JsonObject,
  PatchFault,
  WorkBudget,
} from "./patch-fault.ts";
import { merged, noMergeKey, ordered, partitioned } from "./strategic-lists.ts";

/**
 * Strategic merge patch: a merge patch where the schema determines which lists are merged, and by which
 * key. Directives: `$patch` (replace, delete) in objects and
 * elements, `$retainKeys`, `$setElementOrder/<field>` and `$deleteFromPrimitiveList/<field>`
 * beside a field.
 */

const patchDirective = "$patch";
const retainKeysDirective = "$retainKeys";
const elementOrderPrefix = "$setElementOrder";
const deleteFromPrefix = "$deleteFromPrimitiveList";

/** Maximum number of list elements that one patch merges, which takes some 100 ms. */
const maxMergedElements = 200_000;

/** The struct or map that contains a value; undefined within opaque values. */
type EnclosingType = StructType<any> | { readonly tag: "map"; readonly value: Type } | undefined;

/** Context of a merge. */
interface MergeContext {
  readonly scope: EnclosingType;
  readonly work: WorkBudget;
}

/** Merge rules of a field. */
interface FieldRules {
  readonly type: Type;
  readonly strategies: readonly ("merge" | "replace" | "retainKeys")[];
  readonly mergeKey: string | undefined;
}

/**
 * Applies a patch to the JSON of an object, without modifying the arguments; the result shares with the
 * document what the patch does not name. @throws PatchFault
 */
export function* strategicMergePatchInSlices(
  struct: StructType<any>,
  document: unknown,
  patch: unknown,
): Slices<unknown> {
  checkDepth(patch);
  if (!isJsonObject(patch)) {
    const type = goTypeOf(patch);
    throw new PatchFault(`expected a map[string]interface {}, but received a ${type}`, 400);
  }
  yield;
  const original = isJsonObject(document) ? document : {};
  const change = yield* deepCloneInSlices(patch);
  return mergeObject(original, change, { scope: struct, work: new WorkBudget(maxMergedElements) });
}

/** A copy of `object` with the patch applied, which may be modified. */
function mergeObject(object: JsonObject, patch: JsonObject, place: MergeContext): JsonObject {
  if (Object.hasOwn(patch, patchDirective)) return directed(patch);
  const original = { ...object };
  retainKeys(original, patch);
  orderLists(original, patch, place);
  for (const [key, value] of Object.entries(patch)) {
    const change = { value, ...place };
    if (key.startsWith(deleteFromPrefix))
      deleteFrom(original, fieldOf(key, deleteFromPrefix), change);
    else mergeField(original, key, change);
  }
  return original;
}

/** Applies the directive `$patch`, which replaces or empties the object. */
function directed(patch: JsonObject): JsonObject {
  const directive = patch[patchDirective];
  if (directive === "replace") {
    delete patch[patchDirective];
    return patch;
  }
  if (directive === "delete") return {};
  throw badDirective(directive, patch);
}

function badDirective(directive: unknown, patch: JsonObject): PatchFault {
  return new PatchFault(
    `unknown patch type: ${goString(directive)} in map: ${goValue(patch)}`,
    500,
  );
}

/** Applies `$retainKeys`: deletes all other keys, which the patch must not set. */
function retainKeys(original: JsonObject, patch: JsonObject): void {
  if (!Object.hasOwn(patch, retainKeysDirective)) return;
  const names = patch[retainKeysDirective];
  delete patch[retainKeysDirective];
  const malformed = (): PatchFault => new PatchFault("invalid patch format of retainKeys", 400);
  if (!Array.isArray(names)) throw malformed();
  const retained = new Set<unknown>(names);
  for (const [key, value] of Object.entries(patch)) {
    const isDirective = key.startsWith(deleteFromPrefix) || key.startsWith(elementOrderPrefix);
    if (value !== null && !isDirective && !retained.has(key)) throw malformed();
  }
  for (const key of Object.keys(original)) if (!retained.has(key)) delete original[key];
}

/** `$prefix/field` -> `field`. */
function fieldOf(key: string, prefix: string): string {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1);
  const what = prefix === deleteFromPrefix ? "primitive list" : "setElementOrder list";
  throw new PatchFault(`invalid patch format of ${what}`, 400);
}

/** Merges and orders the lists in `$setElementOrder`, and removes them from the patch. */
function orderLists(original: JsonObject, patch: JsonObject, { scope, work }: MergeContext): void {
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(elementOrderPrefix)) continue;
    const order = asList(patch[key]);
    delete patch[key];
    const field = fieldOf(key, elementOrderPrefix);
    const before = Object.hasOwn(original, field) ? asList(original[field]) : undefined;
    const change = Object.hasOwn(patch, field) ? asList(patch[field]) : undefined;
    const rules = rulesIn(scope, field);
    const mergeKey = rules?.mergeKey;
    checkOrder(change ?? [], order, mergeKey);
    if (before === undefined && change === undefined) continue;
    const list =
      before === undefined
        ? (withoutDirectives(change) as unknown[])
        : change === undefined
          ? before
          : mergeList(before, change, { rules, work });
    work.spend(list.length + order.length);
    for (const [index, element] of order.entries()) {
      if (mergeKey === undefined) break;
      if (isJsonObject(element)) mergeKeyOf(element, mergeKey);
      else throw new PatchFault(`value for key ${index} is not a map`, 500);
    }
    const parts = partitioned(list, order, mergeKey);
    assign(original, field, ordered(parts, { order, live: before ?? [], mergeKey }));
    delete patch[field];
  }
}

function asList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw new PatchFault(`expected a []interface {}, but received a ${goTypeOf(value)}`, 500);
}

/** Checks that the patch list is in the order of `$setElementOrder`, except for deleted elements. */
function checkOrder(
  change: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string | undefined,
): void {
  const kept = change.filter(
    (element) => !(isJsonObject(element) && element[patchDirective] === "delete"),
  );
  const keyOf = (element: unknown): unknown =>
    mergeKey === undefined ? element : mergeKeyOf(element, mergeKey);
  let at = 0;
  for (const element of order) {
    if (at < kept.length && deepEqual(keyOf(kept[at]), keyOf(element))) at++;
  }
  if (at === kept.length) return;
  throw new PatchFault(
    `The order in patch list:\n${goValue(change)}\n doesn't match ${elementOrderPrefix} list:\n` +
      `${goValue(order)}\n`,
    500,
  );
}

function mergeKeyOf(element: unknown, mergeKey: string): unknown {
  if (!isJsonObject(element)) {
    const type = goTypeOf(element);
    throw new PatchFault(`expected a map[string]interface {}, but received a ${type}`, 500);
  }
  if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
  return element[mergeKey];
}

/** Applies `$deleteFromPrimitiveList`; values that are not lists are ignored. */
function deleteFrom(
  original: JsonObject,
  field: string,
  { value, work }: Pick<FieldChange, "value" | "work">,
): void {
  const list = Object.hasOwn(original, field) ? original[field] : undefined;
  if (!Array.isArray(list) || !Array.isArray(value)) return;
  work.spend(list.length + value.length);
  checkElements(list, value);
  const gone = new Set<unknown>(value);
  assign(
    original,
    field,
    list.filter((element) => !gone.has(element)),
  );
}

interface FieldChange extends MergeContext {
  readonly value: unknown;
}

function mergeField(original: JsonObject, key: string, { value, scope, work }: FieldChange): void {
  if (value === null) {
    delete original[key];
    return;
  }
  const current = Object.hasOwn(original, key) ? original[key] : undefined;
  const rules = rulesIn(scope, key);
  if (isJsonObject(current) && isJsonObject(value)) {
    const replaces = rules?.strategies.includes("replace") === true;
    const inner = { scope: scopeOf(rules?.type), work };
    assign(original, key, replaces ? value : mergeObject(current, value, inner));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    assign(original, key, mergeList(current, value, { rules, work }));
  } else {
    const added = withoutDirectives(withoutNulls(value));
    if (added === undefined) assign(original, key, Array.isArray(value) ? [] : {});
    else assign(original, key, added);
  }
}

function mergeList(
  original: unknown[],
  patch: unknown[],
  { rules, work }: { readonly rules: FieldRules | undefined; readonly work: WorkBudget },
): unknown[] {
  // A list that is replaced as a whole is taken as it comes: what is in it directs nothing.
  if (rules?.strategies.includes("merge") !== true) return patch;
  if (original.length === 0 && patch.length === 0) return original;
  work.spend(original.length + patch.length);
  const isOfObjects = checkElements(original, patch);
  const { mergeKey } = rules;
  if (!isOfObjects) return merged(original, patch);
  if (mergeKey === undefined) {
    throw new PatchFault("cannot merge lists without merge key for the list's type", 500);
  }
  return mergeElements(original as JsonObject[], patch as JsonObject[], {
    mergeKey,
    scope: rules.type.tag === "list" ? scopeOf(rules.type.element as Type) : undefined,
    work,
  });
}

/** Checks that all elements have one JSON type; returns whether they are objects. */
function checkElements(original: readonly unknown[], patch: readonly unknown[]): boolean {
  const types = new Set([...original, ...patch].map(goTypeOf));
  const [first] = types;
  if (first === "[]interface {}") throw new PatchFault("lists of lists are not supported", 500);
  if (types.size > 1) {
    const lists = goValue([original, patch]);
    throw new PatchFault(`list element types are not identical: ${lists}`, 500);
  }
  return types.has("map[string]interface {}");
}

interface ElementRules extends MergeContext {
  readonly mergeKey: string;
}

function mergeElements(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  { mergeKey, scope, work }: ElementRules,
): unknown[] {
  const { live, changes } = applyElementDirectives(original, patch, mergeKey);
  const elements: unknown[] = [...live];
  const places = new Map<unknown, number>();
  for (const [index, element] of live.entries()) {
    const key = element[mergeKey];
    if (!places.has(key)) places.set(key, index);
  }
  for (const change of changes) {
    const key = mergeKeyOf(change, mergeKey);
    const place = places.get(key);
    if (place === undefined) {
      places.set(key, elements.push(withoutDirectives(change) ?? {}) - 1);
    } else {
      // The key may have come from an element of this very patch.
      elements[place] = mergeObject(elements[place] as JsonObject, deepClone(change), {
        scope,
        work,
      });
    }
  }
  for (const element of elements) mergeKeyOf(element, mergeKey);
  const parts = partitioned(elements, changes, mergeKey);
  return ordered(parts, { order: changes, live, mergeKey });
}

/**
 * Applies elements with `$patch`, which delete an element by key, or replace the list by the elements
 * without directive.
 */
function applyElementDirectives(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { readonly live: readonly JsonObject[]; readonly changes: readonly JsonObject[] } {
  const changes: JsonObject[] = [];
  const gone = new Set<unknown>();
  let replaces = false;
  for (const element of patch) {
    if (!Object.hasOwn(element, patchDirective)) {
      changes.push(element);
      continue;
    }
    const directive = element[patchDirective];
    if (directive === "delete") gone.add(mergeKeyOf(element, mergeKey));
    else if (directive === "replace") replaces = true;
    else if (directive === "merge") {
      throw new PatchFault("merging lists cannot yet be specified in the patch", 500);
    } else throw badDirective(directive, element);
  }
  if (replaces) return { live: changes, changes: [] };
  return { live: original.filter((element) => !gone.has(element[mergeKey])), changes };
}

/** The merge rules of the field `key`; map entries have none. */
function rulesIn(scope: EnclosingType, key: string): FieldRules | undefined {
  if (scope === undefined) return undefined;
  if (scope.tag === "struct") return mergeRules(scope as StructType<any>, key);
  return { type: resolvedType(scope.value), strategies: [], mergeKey: undefined };
}

function scopeOf(type: Type | undefined): EnclosingType {
  const found = type === undefined ? undefined : resolvedType(type);
  return found?.tag === "struct" || found?.tag === "map" ? (found as EnclosingType) : undefined;
}

function resolvedType(type: Type): Type {
  let current = type;
  while (current.tag === "lazy") current = current.resolve();
  return current;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => withoutNulls(element));
  if (!isJsonObject(value)) return value;
  const kept: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null) assign(kept, key, withoutNulls(inner));
  }
  return kept;
}

/** The value without directives and nulls; undefined if it is deleted. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value
      .filter((element) => !isBareDirective(element))
      .map(withoutDirectives)
      .filter((element) => element !== undefined);
  }
  if (!isJsonObject(value)) return value;
  if (value[patchDirective] === "delete") return undefined;
  const kept: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    const isDirective =
      key === patchDirective ||
      key === retainKeysDirective ||
      key.startsWith(`${elementOrderPrefix}/`) ||
      key.startsWith(`${deleteFromPrefix}/`);
    if (isDirective) continue;
    const stripped = withoutDirectives(inner);
    if (stripped !== undefined) assign(kept, key, stripped);
  }
  return kept;
}

/** `{"$patch": "replace"}` among the elements of a list. */
function isBareDirective(element: unknown): boolean {
  return (
    isJsonObject(element) &&
    element[patchDirective] === "replace" &&
    Object.keys(element).length === 1
  );
}
