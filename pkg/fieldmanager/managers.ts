import { atOnce, compareUtf8, OpaqueJson, type Slices } from "#base";
import {
  difference,
  type FieldSet,
  inOrder,
  isEmptySet,
  parseFieldSet,
  unionOfAll,
} from "./fieldpath/set.ts";
import { FieldSetError } from "./fieldpath/path-element.ts";

/** An entry of metadata.managedFields, as it lies in objects. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string | null;
  readonly fieldsType?: string;
  readonly fieldsV1?: OpaqueJson | null;
  readonly subresource?: string;
}

/** Manager of fields: identified by operation, endpoint and (for updates) version. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly subresource: string;
  /** The version that the paths belong to. */
  readonly apiVersion: string;
  readonly fields: FieldSet;
  /** RFC 3339; undefined until the first change. */
  readonly time: string | undefined;
  /** What the fields were read from; while its value is the fields, it is written again. */
  readonly carried?: OpaqueJson | null | undefined;
}

/** Ownership that cannot be read or followed; told to those who apply, else given up. */
export class ManagedFieldsError extends Error {
  override readonly name = "ManagedFieldsError";
}

/**
 * Managers by identity. The identity of one who applies leaves the version out, so that it has one
 * entry whatever version it spoke last.
 */
export class Managers implements Iterable<readonly [id: string, manager: Manager]> {
  private readonly byId = new Map<string, Manager>();

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
    for (const [id, manager] of this.byId) managers.byId.set(id, manager);
    return managers;
  }

  /** The fields of one manager; without any it is dropped. */
  setFields(id: string, fields: FieldSet): void {
    const manager = this.byId.get(id);
    if (manager === undefined || manager.fields === fields) return;
    if (isEmptySet(fields)) this.byId.delete(id);
    else this.byId.set(id, { ...manager, fields });
  }

  take(id: string, lost: FieldSet): void {
    const manager = this.byId.get(id);
    if (manager !== undefined) this.setFields(id, difference(manager.fields, lost));
  }

  dropEmpty(): void {
    for (const [id, { fields }] of this.byId) if (isEmptySet(fields)) this.byId.delete(id);
  }

  /** As entries with their texts, appliers first, then by whole seconds, then by name. */
  entries(): ManagedFieldsEntry[] {
    return atOnce(this.entriesInSlices());
  }

  /** As `entries`, in slices. */
  *entriesInSlices(): Slices<ManagedFieldsEntry[]> {
    const entries: ManagedFieldsEntry[] = [];
    for (const manager of [...this.byId.values()].sort(byAge)) {
      const entry = encodeEntry(manager);
      entries.push(entry);
      yield;
      // Printed when the object is, which takes long enough without it.
      void entry.fieldsV1?.text;
      yield;
    }
    return entries;
  }
}

/** Why entries cannot be read; "" if they can. */
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
    const what = fieldsType === "" ? "missing fieldsType" : `invalid fieldsType "${fieldsType}"`;
    throw new ManagedFieldsError(`${what} in managed fields entry ${index}`);
  }
  const { manager: name = "", subresource = "", time } = entry;
  try {
    const { fieldsV1: carried } = entry;
    const value = carried?.value;
    yield;
    const fields = yield* parseFieldSet(value);
    const who = { name, operation, subresource, apiVersion } as const;
    return { ...who, fields, time: time ?? undefined, carried };
  } catch (fault) {
    if (!(fault instanceof FieldSetError)) throw fault;
    throw new ManagedFieldsError(`error decoding versioned set: ${fault.message}`);
  }
}

function byAge(left: Manager, right: Manager): number {
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

/** An entry as it is stored. Unchanged fields keep their text. */
function encodeEntry(manager: Manager): ManagedFieldsEntry {
  const { name, operation, apiVersion, time, fields, carried, subresource } = manager;
  return {
    ...(name === "" ? {} : { manager: name }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: carried?.value === fields ? carried : OpaqueJson.of(inOrder(fields)),
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** How many updaters keep entries of their own. */
const mostUpdaters = 10;

/** Under this name the oldest updaters go on. */
const ancient = "ancient-changes";

/**
 * Merges the oldest updaters, each into the bucket of its version, until there are few enough. Like
 * in Kubernetes, a bucket that is not itself the oldest of its version is given up.
 */
export function capUpdaters(managers: Managers): void {
  if (managers.size <= mostUpdaters) return;
  const updaters = [...managers]
    .filter(([, { operation }]) => operation === "Update")
    .sort(([a, left], [b, right]) => seconds(left) - seconds(right) || compareUtf8(a, b));
  const surplus = updaters.length - mostUpdaters;
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
  // At once, since many small sets make one large one.
  for (const [id, sets] of parts) managers.setFields(id, unionOfAll(sets));
}

function bucketOf({ apiVersion, time, fields }: Manager): Manager {
  return { name: ancient, operation: "Update", subresource: "", apiVersion, fields, time };
}
