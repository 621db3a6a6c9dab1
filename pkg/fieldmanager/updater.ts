import { append, deepEqual, type JsonObject, type Slices } from "#base";
import { compare, compareInSlices, type Comparison } from "./typed/compare.ts";
import {
  type FieldSet,
  hasPath,
  intersection,
  isEmptySet,
  isSameSet,
  isSubset,
  onlyMatching,
  type Pattern,
  pathsOf,
  recursiveDifference,
  difference,
  union,
  unionOfAll,
} from "./fieldpath/set.ts";
import { toFieldSet } from "./typed/to-field-set.ts";
import { type Manager, Managers } from "./managers.ts";
import { mergeInSlices } from "./typed/merge.ts";
import { describeElement, type PathElement } from "./fieldpath/path-element.ts";
import { reconciled, removeFields, withNamedFields } from "./typed/remove.ts";
import type { Shape } from "./typed/shape.ts";

/** The versions of a kind as far as merging goes. */
export interface Versions {
  /** Undefined if there is no such version. @throws ManagedFieldsError for what is no version */
  readonly shapeOf: (apiVersion: string) => Shape | undefined;
  /** An object in another version; both exist and differ. @throws ManagedFieldsError */
  readonly convert: (object: JsonObject, from: string, to: string) => JsonObject;
}

/** Fields that an endpoint leaves as they are, so that its writers do not own them. */
export type FieldFilter = { readonly ignored: FieldSet } | { readonly only: readonly Pattern[] };

function applyFilter(scope: FieldFilter, set: FieldSet): FieldSet {
  return "only" in scope ? onlyMatching(set, scope.only) : recursiveDifference(set, scope.ignored);
}

/** A change of one object in one version. */
export interface Change {
  readonly versions: Versions;
  /** The version of the objects given. */
  readonly apiVersion: string;
  readonly scope: FieldFilter;
}

/** A path that another manager owns with another value. */
export interface Conflict {
  /** The other manager's identity. */
  readonly id: string;
  readonly manager: Manager;
  readonly path: readonly PathElement[];
}

/** An apply met fields of others. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  constructor(readonly conflicts: readonly Conflict[]) {
    super(`conflict with ${conflicts.length} fields of other managers`);
  }
}

export function pathText(path: readonly PathElement[]): string {
  return path.map(describeElement).join("");
}

/** An object in the versions that managers speak, each made once. */
class Versioned {
  private readonly made = new Map<string, JsonObject>();
  constructor(
    private readonly change: Change,
    readonly object: JsonObject,
  ) {}
  in(apiVersion: string): JsonObject {
    const { versions, apiVersion: own } = this.change;
    if (apiVersion === own) return this.object;
    let object = this.made.get(apiVersion);
    if (object === undefined) {
      object = versions.convert(this.object, own, apiVersion);
      this.made.set(apiVersion, object);
    }
    return object;
  }
}

interface Objects {
  readonly live: Versioned;
  readonly next: Versioned;
}

/** Drops managers of versions that are no more, and brings sets up to the schema of today. */
function reconcile({ versions }: Change, managers: Managers): Managers {
  const kept = managers.copy();
  for (const [id, { apiVersion, fields }] of managers) {
    const shape = versions.shapeOf(apiVersion);
    if (shape === undefined) kept.delete(id);
    else kept.setFields(id, reconciled(fields, shape));
  }
  return kept;
}

interface Outcome {
  readonly managers: Managers;
  /** Compares the two objects in the version of the change, within no scope. */
  readonly comparison: () => Slices<Comparison>;
}

/**
 * Takes from every manager but `self` what changed or went. Without `force` a change of something
 * that another owns is a conflict.
 */
function* removeFromOthers(
  change: Change,
  { live, next }: Objects,
  { managers, self, force }: { managers: Managers; self: string | undefined; force: boolean },
): Slices<Outcome> {
  const comparisons = new Map<string, Comparison>();
  const compareIn = function* (apiVersion: string): Slices<Comparison> {
    const known = comparisons.get(apiVersion);
    if (known !== undefined) return known;
    const shape = change.versions.shapeOf(apiVersion) as Shape;
    const made = yield* compareInSlices(shape, live.in(apiVersion), next.in(apiVersion));
    comparisons.set(apiVersion, made);
    return made;
  };
  const scoped = new Map<string, { changed: FieldSet; removed: FieldSet }>();
  const losses = new Map<string, { conflict: FieldSet; removed: FieldSet }>();
  const conflicts: Conflict[] = [];
  for (const [id, manager] of managers) {
    if (id === self) continue;
    let difference = scoped.get(manager.apiVersion);
    if (difference === undefined) {
      const { added, modified, removed } = yield* compareIn(manager.apiVersion);
      yield;
      const either = union(modified, added);
      yield;
      const changed = applyFilter(change.scope, either);
      yield;
      difference = { changed, removed: applyFilter(change.scope, removed) };
      scoped.set(manager.apiVersion, difference);
    }
    yield;
    const conflict = intersection(manager.fields, difference.changed);
    yield;
    losses.set(id, { conflict, removed: intersection(manager.fields, difference.removed) });
    yield;
    if (force || isEmptySet(conflict)) continue;
    append(
      conflicts,
      pathsOf(conflict).map((path) => ({ id, manager, path })),
    );
  }
  if (conflicts.length > 0) throw new ConflictError(conflicts);
  const kept = managers.copy();
  for (const [id, { conflict, removed }] of losses) {
    kept.take(id, conflict);
    yield;
    kept.take(id, removed);
    yield;
  }
  kept.dropEmpty();
  return { managers: kept, comparison: () => compareIn(change.apiVersion) };
}

interface Updated {
  readonly managers: Managers;
  /** What the update set or changed. */
  readonly fields: FieldSet;
}

/** An update from `live` to `next` by someone who is not among the managers yet. */
export function* update(
  change: Change,
  objects: { readonly live: JsonObject; readonly next: JsonObject },
  managers: Managers,
): Slices<Updated> {
  const live = new Versioned(change, objects.live);
  const next = new Versioned(change, objects.next);
  const known = reconcile(change, managers);
  yield;
  const outcome = yield* removeFromOthers(
    change,
    { live, next },
    { managers: known, self: undefined, force: true },
  );
  yield;
  const { added, modified } = yield* outcome.comparison();
  yield;
  const changed = union(modified, added);
  yield;
  return { managers: outcome.managers, fields: applyFilter(change.scope, changed) };
}

export interface Application {
  readonly live: JsonObject;
  readonly configuration: JsonObject;
  readonly manager: Omit<Manager, "fields" | "time">;
  readonly id: string;
  readonly force: boolean;
}

export interface Applied {
  /** Undefined if nothing changes. */
  readonly object: JsonObject | undefined;
  readonly managers: Managers;
}

/** Merges the configuration in and prunes what its manager alone had set before. */
export function* apply(
  change: Change,
  application: Application,
  managers: Managers,
): Slices<Applied> {
  const { live, configuration, manager, id, force } = application;
  const shape = change.versions.shapeOf(change.apiVersion) as Shape;
  const known = reconcile(change, managers);
  const last = known.get(id);
  yield;
  const merged = yield* mergeInSlices(shape, live, configuration);
  yield;
  const set = toFieldSet(shape, configuration);
  yield;
  const applied = applyFilter(change.scope, set);
  yield;
  // The set of before, if it is the same, so that it need not be compared and printed again.
  const fields = last !== undefined && isSameSet(last.fields, applied) ? last.fields : applied;
  known.put({ ...manager, fields, time: last?.time });
  yield;
  const object = yield* prune(change, merged, { known, last, fields });
  const objects = { live: new Versioned(change, live), next: new Versioned(change, object) };
  yield;
  const outcome = yield* removeFromOthers(change, objects, { managers: known, self: id, force });
  yield;
  return {
    object: deepEqual(live, object) ? undefined : object,
    managers: outcome.managers,
  };
}

interface Pruning {
  readonly known: Managers;
  /** What the manager had applied before. */
  readonly last: Manager | undefined;
  /** What it applies now. */
  readonly fields: FieldSet;
}

/** Removes what the manager applied before, does not apply now, and no other manager owns. */
function* prune(
  change: Change,
  merged: JsonObject,
  { known, last, fields }: Pruning,
): Slices<JsonObject> {
  if (last === undefined || isEmptySet(last.fields)) return merged;
  const { versions, apiVersion: own } = change;
  const version = last.apiVersion;
  // All that was applied is applied again: nothing can go.
  if (version === own && isSubset(last.fields, fields)) return merged;
  const shape = versions.shapeOf(version);
  if (shape === undefined) return merged;
  const start = new Versioned(change, merged).in(version);
  const lost = removeFields(shape, start, withNamedFields(last.fields, shape));
  const trimmed = { merged: start, pruned: lost };
  yield;
  const back = yield* withOwned({ ...change, apiVersion: version }, trimmed, known);
  yield;
  const pruned = yield* withoutLast(shape, { merged: start, pruned: back, last: last.fields });
  yield;
  return version === own ? pruned : versions.convert(pruned, version, own);
}

interface Trimmed {
  readonly merged: JsonObject;
  readonly pruned: JsonObject;
}

/** Brings back what managers own, version by version, that of the objects first. */
function* withOwned(change: Change, trimmed: Trimmed, known: Managers): Slices<JsonObject> {
  const byVersion = new Map<string, FieldSet[]>([[change.apiVersion, []]]);
  for (const [, { apiVersion, fields }] of known) {
    const sets = byVersion.get(apiVersion);
    if (sets === undefined) byVersion.set(apiVersion, [fields]);
    else sets.push(fields);
  }
  let { merged, pruned } = trimmed;
  let at = change.apiVersion;
  for (const [version, sets] of byVersion) {
    const shape = change.versions.shapeOf(version);
    if (sets.length === 0 || shape === undefined) continue;
    if (version !== at) {
      merged = change.versions.convert(merged, at, version);
      pruned = change.versions.convert(pruned, at, version);
      at = version;
    }
    const named = (set: FieldSet): FieldSet => withNamedFields(set, shape);
    const stays = union(named(toFieldSet(shape, pruned)), named(unionOfAll(sets)));
    yield;
    pruned = removeFields(shape, merged, difference(named(toFieldSet(shape, merged)), stays));
    yield;
  }
  return at === change.apiVersion ? pruned : change.versions.convert(pruned, at, change.apiVersion);
}

/** Only what was applied before may go; the rest comes back. */
function* withoutLast(
  shape: Shape,
  { merged, pruned, last }: Trimmed & { readonly last: FieldSet },
): Slices<JsonObject> {
  const named = (set: FieldSet): FieldSet => withNamedFields(set, shape);
  const gone = difference(named(toFieldSet(shape, merged)), named(toFieldSet(shape, pruned)));
  yield;
  return removeFields(shape, merged, intersection(gone, named(last)));
}

/**
 * What of an earlier configuration still stands as it was applied: changing that is no conflict for
 * who applied it by another mechanism.
 */
export function standing(shape: Shape, configuration: JsonObject, live: JsonObject): FieldSet {
  const { added, modified, removed } = compare(shape, configuration, live);
  const set = toFieldSet(shape, configuration);
  return difference(difference(difference(set, modified), added), removed);
}

/** The conflicts that are none of the allowed ones. */
export function remaining(conflicts: readonly Conflict[], allowed: FieldSet): readonly Conflict[] {
  return conflicts.filter(({ path }) => !hasPath(allowed, path));
}
