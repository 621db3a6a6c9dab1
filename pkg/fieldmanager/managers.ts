import { atOnce, compareUtf8, isJsonObject, OpaqueJson, type Slices } from "#base";
import { difference, type FieldSet, isEmptySet, unionOfAll } from "./fieldpath/set.ts";
import { parseFieldSet } from "./fieldpath/parse-field-set.ts";
import { differenceInSlices, inOrderInSlices } from "./fieldpath/set-in-slices.ts";
import { slicedLevelsOf } from "./typed/value.ts";
import { FieldSetError } from "./fieldpath/path-element.ts";

/** An entry of metadata.managedFields as objects carry it. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string | null;
  readonly fieldsType?: string;
  readonly fieldsV1?: OpaqueJson | null;
  readonly subresource?: string;
}

/** A field manager: identified by name, operation, subresource and (for updates) version. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly subresource: string;
  /** The version of the schema that the paths refer to. */
  readonly apiVersion: string;
  readonly fields: FieldSet;
  /** RFC 3339; undefined until the first change. */
  readonly time: string | undefined;
  /** The FieldsV1 that `fields` were decoded from; written again while `fields` are unchanged. */
  readonly encoded?: OpaqueJson | null | undefined;
}

/**
 * managedFields that cannot be decoded or converted: fails an apply; other writes reset managedFields.
 */
export class ManagedFieldsError extends Error {
  override readonly name = "ManagedFieldsError";
}

/**
 * Managers by identifier. That of an applier does not contain the version, so that an applier has one
 * entry for all versions.
 */
export class Managers implements Iterable<readonly [id: string, manager: Manager]> {
  private readonly byId = new Map<string, Manager>();

  /** Levels of the sets that may have large nodes, which are processed in slices. */
  levels = 0;

  /** @throws ManagedFieldsError */
  static read(entries: readonly ManagedFieldsEntry[] | null | undefined): Managers {
    return atOnce(Managers.readInSlices(entries));
  }

  /** As `read`, in slices. */
  static *readInSlices(
    entries: readonly ManagedFieldsEntry[] | null | undefined,
  ): Slices<Managers> {
    const managers = new Managers();
    for (const [index, entry] of (entries ?? []).entries()) {
      managers.put(yield* decodeEntry(entry, index));
      yield;
    }
    return managers;
  }

  [Symbol.iterator](): IterableIterator<[string, Manager]> {
    return this.byId[Symbol.iterator]();
  }
  get size(): number {
    return this.byId.size;
  }
  get(id: string): Manager | undefined {
    return this.byId.get(id);
  }
  put(manager: Manager): void {
    this.byId.set(managerIdentifier(manager), manager);
  }
  delete(id: string): void {
    this.byId.delete(id);
  }
  copy(): Managers {
    const managers = new Managers();
    managers.levels = this.levels;
    for (const [id, manager] of this.byId) managers.byId.set(id, manager);
    return managers;
  }

  /** Replaces the fields of a manager; an empty set deletes the manager. */
  setFields(id: string, fields: FieldSet): void {
    const manager = this.byId.get(id);
    if (manager === undefined || manager.fields === fields) return;
    if (isEmptySet(fields)) this.byId.delete(id);
    else this.byId.set(id, { ...manager, fields });
  }

  removeFields(id: string, removed: FieldSet): void {
    const manager = this.byId.get(id);
    if (manager !== undefined) this.setFields(id, difference(manager.fields, removed));
  }

  /** As `removeFields`, in slices. */
  *removeFieldsInSlices(id: string, removed: FieldSet): Slices<void> {
    const manager = this.byId.get(id);
    if (manager === undefined || isEmptySet(removed)) return;
    this.setFields(id, yield* differenceInSlices(manager.fields, removed, this.levels));
  }

  dropEmpty(): void {
    for (const [id, { fields }] of this.byId) if (isEmptySet(fields)) this.byId.delete(id);
  }

  /** The encoded entries: appliers first, then by time in whole seconds, then by name. */
  entries(): ManagedFieldsEntry[] {
    return atOnce(this.entriesInSlices());
  }

  /** As `entries`, in slices. */
  *entriesInSlices(): Slices<ManagedFieldsEntry[]> {
    const entries: ManagedFieldsEntry[] = [];
    for (const manager of [...this.byId.values()].sort(compareManagers)) {
      const { fields, encoded } = manager;
      const isUnchanged = encoded?.value === fields;
      const ordered = isUnchanged ? fields : yield* inOrderInSlices(fields, this.levels);
      const entry = encodeEntry(manager, isUnchanged ? encoded : OpaqueJson.of(ordered));
      entries.push(entry);
      yield;
      // Encodes the fields here; otherwise printing the object would, all at once.
      if (this.levels > 0) yield* entry.fieldsV1?.print() ?? [];
      yield;
    }
    return entries;
  }
}

/** The message about entries that cannot be decoded; "" if all can. */
export function entriesFault(entries: readonly ManagedFieldsEntry[] | undefined): string {
  try {
    Managers.read(entries);
    return "";
  } catch (fault) {
    if (fault instanceof ManagedFieldsError) return fault.message;
    throw fault;
  }
}

export function managerIdentifier(manager: Omit<Manager, "fields" | "time">): string {
  const { name, operation, apiVersion, subresource } = manager;
  return JSON.stringify({
    ...(name === "" ? {} : { manager: name }),
    operation,
    ...(operation === "Apply" || apiVersion === "" ? {} : { apiVersion }),
    ...(subresource === "" ? {} : { subresource }),
  });
}

function* decodeEntry(entry: ManagedFieldsEntry, index: number): Slices<Manager> {
  const { operation, apiVersion = "", fieldsType = "" } = entry;
  if (operation !== "Apply" && operation !== "Update") {
    throw new ManagedFieldsError("operation must be `Apply` or `Update`");
  }
  if (apiVersion === "") throw new ManagedFieldsError("apiVersion must not be empty");
  if (fieldsType !== "FieldsV1") {
    const fault = fieldsType === "" ? "missing fieldsType" : `invalid fieldsType "${fieldsType}"`;
    throw new ManagedFieldsError(`${fault} in managed fields entry ${index}`);
  }
  const { manager: name = "", subresource = "", time } = entry;
  try {
    const { fieldsV1: encoded } = entry;
    const value = encoded?.value;
    yield;
    const fields = yield* parseFieldSet(value, slicedLevelsIn(encoded));
    return { name, operation, subresource, apiVersion, fields, time: time ?? undefined, encoded };
  } catch (fault) {
    if (!(fault instanceof FieldSetError)) throw fault;
    throw new ManagedFieldsError(`error decoding versioned set: ${fault.message}`);
  }
}

/** Length of encoded fields from which the set may have large nodes. */
const largeLength = 16 * 1024;

/** Levels of encoded fields that are to be processed in slices. */
function slicedLevelsIn(encoded: OpaqueJson | null | undefined): number {
  if (encoded === undefined || encoded === null) return 0;
  const { length = largeLength } = encoded;
  return length >= largeLength && isJsonObject(encoded.value) ? slicedLevelsOf(encoded.value) : 0;
}

function compareManagers(left: Manager, right: Manager): number {
  return (
    compareUtf8(left.operation, right.operation) ||
    seconds(left) - seconds(right) ||
    compareUtf8(left.name, right.name) ||
    compareUtf8(left.apiVersion, right.apiVersion) ||
    compareUtf8(left.subresource, right.subresource)
  );
}

function seconds({ time }: Manager): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

function encodeEntry(manager: Manager, fieldsV1: OpaqueJson): ManagedFieldsEntry {
  const { name, operation, apiVersion, time, subresource } = manager;
  return {
    ...(name === "" ? {} : { manager: name }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1,
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** Maximum of entries with operation Update, as in kube-apiserver. */
const maxUpdaters = 10;

/** Manager name of the entries into which the oldest updaters are merged. */
const ancientChanges = "ancient-changes";

/**
 * Merges the oldest updaters of each version into one entry of that version, until at most ten remain.
 * As in Kubernetes, an existing such entry that is not the oldest of its version is merged, too, and
 * its fields are lost.
 */
export function capUpdaters(managers: Managers): void {
  if (managers.size <= maxUpdaters) return;
  const updaters = [...managers]
    .filter(([, { operation }]) => operation === "Update")
    .sort(([a, left], [b, right]) => seconds(left) - seconds(right) || compareUtf8(a, b));
  const surplus = updaters.length - maxUpdaters;
  const firsts = new Map<string, string>();
  const parts = new Map<string, FieldSet[]>();
  let merged = 0;
  for (const [id, manager] of updaters) {
    if (merged >= surplus) break;
    const first = firsts.get(manager.apiVersion);
    if (first === undefined) {
      firsts.set(manager.apiVersion, id);
      continue;
    }
    const bucket = bucketOf(manager);
    const bucketId = managerIdentifier(bucket);
    const before = managers.get(bucketId) ?? managers.get(first);
    const sets = parts.get(bucketId) ?? (before === undefined ? [] : [before.fields]);
    if (managers.get(bucketId) === undefined) managers.delete(first);
    sets.push(manager.fields);
    parts.set(bucketId, sets);
    managers.put(bucket);
    managers.delete(id);
    if (id === bucketId) parts.delete(id);
    merged++;
  }
  // One union of all parts: a union per part would copy the large set each time.
  for (const [id, sets] of parts) managers.setFields(id, unionOfAll(sets));
}

function bucketOf({ apiVersion, time, fields }: Manager): Manager {
  return { name: ancientChanges, operation: "Update", subresource: "", apiVersion, fields, time };
}
