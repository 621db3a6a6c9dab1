import { append, deepEqual, deepEqualInSlices, type JsonObject, type Slices } from "#base";
import { compare, compareInSlices, type Comparison } from "./typed/compare.ts";
import {
  type FieldSet,
  hasPath,
  intersection,
  emptySet,
  isEmptySet,
  pathsOf,
  recursiveDifference,
  difference,
  union,
  unionOfAll,
} from "./fieldpath/set.ts";
import {
  intersectionInSlices,
  isSameSetInSlices,
  isSubsetInSlices,
  unionInSlices,
} from "./fieldpath/set-in-slices.ts";
import { toFieldSet, toFieldSetInSlices } from "./typed/to-field-set.ts";
import { ManagedFieldsError, type Manager, Managers } from "./managers.ts";
import { mergeInSlices } from "./typed/merge.ts";
import { describeElement, type PathElement } from "./fieldpath/path-element.ts";
import { reconciled, removeFields, withNamedFields } from "./typed/remove.ts";
import type { Shape } from "./typed/shape.ts";
import { slicedLevelsOf } from "./typed/value.ts";

/** The versions of a kind. */
export interface Versions {
  /** Undefined for an unknown version. @throws ManagedFieldsError for a malformed apiVersion */
  readonly shapeOf: (apiVersion: string) => Shape | undefined;
  /**
   * Converts an object between two existing, different versions. @throws ManagedFieldsError, also for a
   * result that is invalid by the schema of the other version
   */
  readonly convert: (object: JsonObject, from: string, to: string) => JsonObject;
}

/** The fields that writes through an endpoint can manage: all but `ignored`. */
export interface FieldFilter {
  readonly ignored: FieldSet;
  /** Whether it applies to managers of the request's version only, as for custom resources. */
  readonly ofVersion?: boolean;
}

function applyFilter(scope: FieldFilter, set: FieldSet): FieldSet {
  return recursiveDifference(set, scope.ignored);
}

/** The filter for the fields of a manager in a version. */
function filterIn({ scope, apiVersion }: Change, managed: string): FieldFilter {
  return scope.ofVersion === true && managed !== apiVersion ? { ignored: emptySet } : scope;
}

/** The kind, version and endpoint of a write. */
export interface Change {
  readonly versions: Versions;
  /** The version of the objects in the request. */
  readonly apiVersion: string;
  readonly scope: FieldFilter;
}

/** A path that an apply changes and another manager manages. */
export interface Conflict {
  /** Identifier of the other manager. */
  readonly id: string;
  readonly manager: Manager;
  readonly path: readonly PathElement[];
}

/** Thrown by an apply without `force` that changes fields of other managers. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  constructor(readonly conflicts: readonly Conflict[]) {
    super(`conflict with ${conflicts.length} fields of other managers`);
  }
}

export function pathText(path: readonly PathElement[]): string {
  return path.map(describeElement).join("");
}

/** An object in the versions of its managers; each conversion happens once. */
class Versioned {
  private readonly converted = new Map<string, JsonObject>();
  constructor(
    private readonly change: Change,
    readonly object: JsonObject,
  ) {}
  in(apiVersion: string): JsonObject {
    const { versions, apiVersion: from } = this.change;
    if (apiVersion === from) return this.object;
    let object = this.converted.get(apiVersion);
    if (object === undefined) {
      object = versions.convert(this.object, from, apiVersion);
      this.converted.set(apiVersion, object);
    }
    return object;
  }
}

interface Objects {
  readonly live: Versioned;
  readonly next: Versioned;
}

interface Conversion {
  readonly object: JsonObject;
  readonly from: string;
  readonly to: string;
}

/** Converts an object unless it is in the version; `failure` is what the message of an error begins with. */
function convert(
  versions: Versions,
  { object, from, to }: Conversion,
  failure: string,
): JsonObject {
  return from === to ? object : converting(failure, () => versions.convert(object, from, to));
}

function converting<T>(failure: string, run: () => T): T {
  try {
    return run();
  } catch (fault) {
    if (fault instanceof ManagedFieldsError) {
      throw new ManagedFieldsError(`${failure}: ${fault.message}`);
    }
    throw fault;
  }
}

/**
 * Drops managers of versions that no longer exist, and adapts sets to the current schema.
 *
 * @throws ManagedFieldsError unless the live object is valid in the versions of all managers
 */
function* reconcile({ versions }: Change, live: Versioned, managers: Managers): Slices<Managers> {
  const result = managers.copy();
  for (const [id, { apiVersion, fields }] of managers) {
    const shape = versions.shapeOf(apiVersion);
    if (shape === undefined) result.delete(id);
    else {
      live.in(apiVersion);
      result.setFields(id, reconciled(fields, shape));
    }
    yield;
  }
  return result;
}

/** @throws ManagedFieldsError */
function comparedIn(
  apiVersion: string,
  { live, next }: Objects,
): readonly [JsonObject, JsonObject] {
  return [
    converting("failed to convert old object", () => live.in(apiVersion)),
    converting("failed to convert new object", () => next.in(apiVersion)),
  ];
}

interface RemovalOutcome {
  readonly managers: Managers;
  /** Compares the two objects in the version of the change, without a field filter. */
  readonly comparison: () => Slices<Comparison>;
}

interface Removal {
  readonly managers: Managers;
  /** Identifier of the manager that makes the change. */
  readonly self: string;
  readonly operation: "Apply" | "Update";
  readonly force: boolean;
}

/**
 * Removes changed and removed fields from the other managers, and those that the object no longer has from
 * an updater. Without `force`, changed fields of another manager are conflicts.
 *
 * @throws ConflictError
 */
function* removeFromOthers(
  change: Change,
  { live, next }: Objects,
  { managers, self, operation, force }: Removal,
): Slices<RemovalOutcome> {
  const { levels } = managers;
  const comparisons = new Map<string, Comparison>();
  const compareIn = function* (apiVersion: string): Slices<Comparison> {
    let comparison = comparisons.get(apiVersion);
    if (comparison !== undefined) return comparison;
    const shape = change.versions.shapeOf(apiVersion) as Shape;
    comparison = yield* compareInSlices(shape, comparedIn(apiVersion, { live, next }), levels);
    comparisons.set(apiVersion, comparison);
    return comparison;
  };
  const filtered = new Map<string, { changed: FieldSet; removed: FieldSet }>();
  const losses = new Map<string, { conflict: FieldSet; removed: FieldSet }>();
  const conflicts: Conflict[] = [];
  for (const [id, manager] of managers) {
    if (id === self && operation === "Apply") continue;
    let difference = filtered.get(manager.apiVersion);
    if (difference === undefined) {
      const { added, modified, removed } = yield* compareIn(manager.apiVersion);
      yield;
      const modifiedOrAdded = yield* unionInSlices(modified, added, levels);
      yield;
      const scope = filterIn(change, manager.apiVersion);
      const changed = applyFilter(scope, modifiedOrAdded);
      yield;
      difference = { changed, removed: applyFilter(scope, removed) };
      filtered.set(manager.apiVersion, difference);
    }
    yield;
    const { fields } = manager;
    // The updater will have the fields that it changes: those that it has stay in its set.
    const conflict =
      id === self ? emptySet : yield* intersectionInSlices(fields, difference.changed, levels);
    yield;
    const removed = yield* intersectionInSlices(fields, difference.removed, levels);
    losses.set(id, { conflict, removed });
    yield;
    if (force || isEmptySet(conflict)) continue;
    append(
      conflicts,
      pathsOf(conflict).map((path) => ({ id, manager, path })),
    );
  }
  if (conflicts.length > 0) throw new ConflictError(conflicts);
  const result = managers.copy();
  for (const [id, { conflict, removed }] of losses) {
    yield* result.removeFieldsInSlices(id, conflict);
    yield;
    yield* result.removeFieldsInSlices(id, removed);
    yield;
  }
  result.dropEmpty();
  return { managers: result, comparison: () => compareIn(change.apiVersion) };
}

interface Updated {
  readonly managers: Managers;
  /** The fields that the update added or modified. */
  readonly fields: FieldSet;
}

/**
 * The managers after an update from `live` to `next` by the manager `self`, to whose entry `fields` are
 * to be added.
 */
export function* update(
  change: Change,
  objects: { readonly live: JsonObject; readonly next: JsonObject },
  { managers, self }: Pick<Removal, "managers" | "self">,
): Slices<Updated> {
  const live = new Versioned(change, objects.live);
  const next = new Versioned(change, objects.next);
  const current = yield* reconcile(change, live, managers);
  current.levels = slicedLevelsOf(objects.live, objects.next);
  yield;
  const outcome = yield* removeFromOthers(
    change,
    { live, next },
    { managers: current, self, operation: "Update", force: true },
  );
  yield;
  const { added, modified } = yield* outcome.comparison();
  yield;
  const changed = yield* unionInSlices(modified, added, current.levels);
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
  /** Undefined if the object does not change. */
  readonly object: JsonObject | undefined;
  readonly managers: Managers;
}

/**
 * Merges the configuration into the object, and prunes fields that its manager applied before, does not
 * apply now, and that have no other manager.
 *
 * @throws ConflictError
 */
export function* apply(
  change: Change,
  application: Application,
  managers: Managers,
): Slices<Applied> {
  const { live, configuration, manager, id, force } = application;
  const shape = change.versions.shapeOf(change.apiVersion) as Shape;
  const versionedLive = new Versioned(change, live);
  const current = yield* reconcile(change, versionedLive, managers);
  const levels = (current.levels = slicedLevelsOf(live, configuration));
  const last = current.get(id);
  yield;
  const merged = yield* mergeInSlices(shape, [live, configuration], levels);
  yield;
  const set = yield* toFieldSetInSlices(shape, configuration, levels);
  yield;
  const applied = applyFilter(change.scope, set);
  yield;
  // Reuses an equal set, so that it need not be compared and encoded again.
  const isSame = last !== undefined && (yield* isSameSetInSlices(last.fields, applied, levels));
  const fields = isSame ? last.fields : applied;
  current.put({ ...manager, fields, time: last?.time });
  yield;
  const object = yield* prune(change, merged, { managers: current, last, fields });
  const objects = { live: versionedLive, next: new Versioned(change, object) };
  yield;
  const removal = { managers: current, self: id, operation: "Apply", force } as const;
  const outcome = yield* removeFromOthers(change, objects, removal);
  yield;
  const isUnchanged = levels > 0 ? yield* deepEqualInSlices(live, object) : deepEqual(live, object);
  return {
    object: isUnchanged ? undefined : object,
    managers: outcome.managers,
  };
}

interface Pruning {
  readonly managers: Managers;
  /** The applier's previous entry. */
  readonly last: Manager | undefined;
  /** The fields of the applied configuration. */
  readonly fields: FieldSet;
}

/** Removes fields that the manager applied before, does not apply now, and that have no other manager. */
function* prune(
  change: Change,
  merged: JsonObject,
  { managers, last, fields }: Pruning,
): Slices<JsonObject> {
  if (last === undefined || isEmptySet(last.fields)) return merged;
  const { versions, apiVersion } = change;
  const version = last.apiVersion;
  // All previous fields are applied again: there is nothing to prune.
  const isSameVersion = version === apiVersion;
  if (isSameVersion && (yield* isSubsetInSlices(last.fields, fields, managers.levels))) {
    return merged;
  }
  const shape = versions.shapeOf(version);
  if (shape === undefined) return merged;
  const lastApplied = "failed to convert merged object to last applied version";
  const before = convert(
    versions,
    { object: merged, from: apiVersion, to: version },
    `${pruning}: ${lastApplied}`,
  );
  const withoutApplied = removeFields(shape, before, withNamedFields(last.fields, shape));
  yield;
  const restored = yield* addBackManagedFields(
    { ...change, apiVersion: version },
    { merged: before, pruned: withoutApplied },
    managers,
  );
  yield;
  const pruned = yield* addBackUnappliedFields(
    shape,
    { merged: before, pruned: restored },
    last.fields,
  );
  yield;
  return convert(versions, { object: pruned, from: version, to: apiVersion }, pruning);
}

/** Start of the messages about conversions while fields are pruned. */
const pruning = "failed to prune fields";

interface PrunedObject {
  readonly merged: JsonObject;
  readonly pruned: JsonObject;
}

/** Restores pruned fields that have a manager, version by version, that of the change first. */
function* addBackManagedFields(
  change: Change,
  objects: PrunedObject,
  managers: Managers,
): Slices<JsonObject> {
  const byVersion = new Map<string, FieldSet[]>([[change.apiVersion, []]]);
  for (const [, { apiVersion, fields }] of managers) {
    const sets = byVersion.get(apiVersion);
    if (sets === undefined) byVersion.set(apiVersion, [fields]);
    else sets.push(fields);
  }
  const { versions } = change;
  const { shapeOf } = versions;
  let { merged, pruned } = objects;
  let current = change.apiVersion;
  for (const [version, sets] of byVersion) {
    const shape = shapeOf(version);
    if (sets.length === 0 || shape === undefined) continue;
    const convertBack = (object: JsonObject, name: string): JsonObject => {
      const failure = `failed to convert ${name} object at version ${version}`;
      const conversion = { object, from: current, to: version };
      return convert(versions, conversion, `${pruning}: failed add back owned items: ${failure}`);
    };
    merged = convertBack(merged, "merged");
    pruned = convertBack(pruned, "pruned");
    current = version;
    const named = (set: FieldSet): FieldSet => withNamedFields(set, shape);
    const remaining = union(named(toFieldSet(shape, pruned)), named(unionOfAll(sets)));
    yield;
    pruned = removeFields(shape, merged, difference(named(toFieldSet(shape, merged)), remaining));
    yield;
  }
  const failure = "failed to convert pruned object to last applied version";
  return convert(
    versions,
    { object: pruned, from: current, to: change.apiVersion },
    `${pruning}: failed add back dangling items: ${failure}`,
  );
}

/** Restores pruned fields that were not in the applier's previous set. */
function* addBackUnappliedFields(
  shape: Shape,
  { merged, pruned }: PrunedObject,
  applied: FieldSet,
): Slices<JsonObject> {
  const named = (set: FieldSet): FieldSet => withNamedFields(set, shape);
  const removed = difference(named(toFieldSet(shape, merged)), named(toFieldSet(shape, pruned)));
  yield;
  return removeFields(shape, merged, intersection(removed, named(applied)));
}

/** The fields of a configuration whose values in the live object are still those of the configuration. */
export function unchangedFields(
  shape: Shape,
  configuration: JsonObject,
  live: JsonObject,
): FieldSet {
  const { added, modified, removed } = compare(shape, configuration, live);
  const set = toFieldSet(shape, configuration);
  return difference(difference(difference(set, modified), added), removed);
}

/** The conflicts whose paths are not in `allowed`. */
export function conflictsOutside(
  conflicts: readonly Conflict[],
  allowed: FieldSet,
): readonly Conflict[] {
  return conflicts.filter(({ path }) => !hasPath(allowed, path));
}
