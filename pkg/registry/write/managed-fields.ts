import {
  assign,
  certainlyDiffer,
  certainlyDifferInSlices,
  deepClone,
  deepEqual,
  deepEqualInSlices,
  differingParts,
  type JsonObject,
  memoize,
  type Slices,
} from "#base";
import {
  configurationFault,
  createdFields,
  createdFieldsInSlices,
  managedFieldsAtCreation,
  ElementError,
  managedFieldsAfterUpdate,
  entriesFault,
  excludedAtCreation,
  type ManagedFieldsEntry,
  type ManagedWrite,
  ManagedFieldsError,
  rootShape,
  type Shape,
  type Versions,
} from "#fieldmanager";
import { groupVersionOf, type KindVersion, type Resource, resolve } from "#meta";
import {
  DecodeFault,
  fromJson,
  type StructType,
  toJson,
  toJsonValue,
  toJsonValueInSlices,
} from "#schema";
import type { ResourceRequest, AdmissionAttributes } from "../contract.ts";
import { nullEmptyCollections } from "../codec/null-empty-collections.ts";
import type { RegistryContext } from "../context.ts";
import { trackedFieldsOf } from "./managed-fields-scope.ts";

/**
 * metadata.managedFields records which manager owns which field. It is computed from the object that
 * the client sent, in the version of the request, before admission and PrepareForCreate/Update.
 */

const lastApplied = "kubectl.{label}/last-applied-configuration";

/** The write as the field manager sees it; `manager` "" = the user agent. */
export function managedWrite(
  registry: RegistryContext,
  request: ResourceRequest,
  manager: string,
): ManagedWrite {
  const { resource, subresource } = request;
  return {
    versions: versionsOf(registry, resource),
    apiVersion: resource.groupVersion,
    kind: resource.kind.kind,
    scope: trackedFieldsOf(resource.kind, subresource),
    manager: managerName(request, manager),
    subresource,
    now: registry.timestamp(),
    get annotation() {
      return resolve(lastApplied, registry.catalog.domain);
    },
  };
}

function managerName({ userAgent }: ResourceRequest, fieldManager: string): string {
  return fieldManager || printable(userAgent);
}

interface ManagedFieldsUpdate {
  /** The wanted object in hub form with the client's managedFields; changed in place. */
  readonly object: any;
  /** The stored object; undefined for a create. */
  readonly old: any;
  /** The stored object as JSON in the version of the resource, if it is at hand. */
  readonly document?: JsonObject | undefined;
  readonly fieldManager: string;
  /** Compares the objects in slices. */
  readonly isLarge?: boolean;
}

/** Makes the field manager of a create, replace or patch the owner of the fields that it changes. */
export function* updateManagedFields(
  registry: RegistryContext,
  request: ResourceRequest,
  change: ManagedFieldsUpdate,
): Slices<void> {
  const { object, old } = change;
  const sent: ManagedFields = object.metadata.managedFields;
  const entries =
    old === undefined && sent === undefined
      ? yield* entriesAfterCreate(registry, request, change)
      : yield* entriesAfterUpdate(registry, request, { ...change, sent });
  setManagedFields(object.metadata, entries);
}

/** Fast path of a create without managedFields: the manager owns all fields, so none are compared. */
function* entriesAfterCreate(
  registry: RegistryContext,
  request: ResourceRequest,
  { object, fieldManager, isLarge = false }: ManagedFieldsUpdate,
): Slices<NonNullable<ManagedFields>> {
  const { resource, subresource } = request;
  const scope = trackedFieldsOf(resource.kind, subresource);
  if (subresource !== "") {
    return yield* entriesAfterUpdate(registry, request, { object, old: undefined, fieldManager });
  }
  const excluded = excludedAtCreation(scope.ignored);
  try {
    const served = servedObject(resource, object);
    const fields = isLarge
      ? yield* createdFieldsInSlices(resource.struct, served, excluded)
      : createdFields(resource.struct, served, excluded);
    const by = {
      manager: managerName(request, fieldManager),
      apiVersion: resource.groupVersion,
      now: registry.timestamp(),
    };
    return managedFieldsAtCreation(by, fields);
  } catch (fault) {
    if (fault instanceof ElementError) return [];
    throw fault;
  }
}

function entriesAfterUpdate(
  registry: RegistryContext,
  request: ResourceRequest,
  change: ManagedFieldsUpdate & { readonly sent?: ManagedFields },
): Slices<NonNullable<ManagedFields>> {
  const { resource } = request;
  const { object, old, document, fieldManager, sent, isLarge = false } = change;
  return managedFieldsAfterUpdate(managedWrite(registry, request, fieldManager), {
    *objects(areConverted) {
      if (old === undefined) {
        const next = yield* servedJsonInSlices(resource, object);
        return { live: emptyObject(resource.struct), next };
      }
      // The size of whole objects decides whether they are compared in slices.
      if (!areConverted && !isLarge) return differingJson(resource, old, object);
      const live =
        document === undefined
          ? yield* servedJsonInSlices(resource, old)
          : withoutTypeMeta(document);
      yield;
      return { live, next: yield* nextJson(resource, { object, old }, live) };
    },
    creation: old === undefined,
    entries: old?.metadata.managedFields,
    sent,
  });
}

/** Sets metadata.managedFields, or deletes it if there are no entries. */
export function setManagedFields(metadata: any, entries: readonly ManagedFieldsEntry[]): void {
  if (entries.length === 0) delete metadata.managedFields;
  else metadata.managedFields = entries;
}

/** metadata.managedFields of any JSON value. */
export function managedFieldsIn(document: unknown): unknown {
  const metadata = (document as { readonly metadata?: unknown } | undefined)?.metadata;
  return (metadata as { readonly managedFields?: unknown } | undefined)?.managedFields;
}

/** The document without metadata.managedFields; the argument is not changed. */
export function withoutManagedFields(document: unknown): unknown {
  if (managedFieldsIn(document) === undefined) return document;
  const { metadata, ...others } = document as { readonly metadata: object };
  const { managedFields: _entries, ...rest } = metadata as { readonly managedFields: unknown };
  return { ...others, metadata: rest };
}

/** Keeps `managedFields: []`, by which a client clears them; the decoder treats it as absent. */
export function keepClearedManagedFields(document: unknown, object: any): void {
  const sent = managedFieldsIn(document);
  if (Array.isArray(sent) && sent.length === 0) object.metadata.managedFields = [];
}

/** A hub object as JSON in the version of the resource, without managedFields, in slices. */
export function* servedJsonInSlices(resource: Resource, hub: any): Slices<JsonObject> {
  const object = unmanaged(servedObject(resource, hub));
  return yield* toJsonValueInSlices(resource.struct, object);
}

/** The JSON of two hub objects in the version of the resource, as far as they differ. */
function differingJson(resource: Resource, old: any, object: any) {
  const { struct } = resource;
  const [before, after] = [old, object].map((hub) => unmanaged(servedObject(resource, hub)));
  const [live, next] = differingParts(before, after) ?? [{}, {}];
  return { live: toJsonValue(struct, live), next: toJsonValue(struct, next) };
}

/** The object without metadata.managedFields. */
function unmanaged(object: any): any {
  const { managedFields: _entries, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** A document as `servedJsonInSlices` returns it. */
function withoutTypeMeta({
  kind: _kind,
  apiVersion: _apiVersion,
  ...object
}: JsonObject): JsonObject {
  return unmanaged(object);
}

/** As `servedJsonInSlices(resource, object)`, which shares with `live`, the JSON of `old`, what is equal. */
function* nextJson(
  resource: Resource,
  { object, old }: Pick<ManagedFieldsUpdate, "object" | "old">,
  live: JsonObject,
): Slices<JsonObject> {
  if (resource.served.convert !== "hub") return yield* servedJsonInSlices(resource, object);
  const changed: Record<string, unknown> = {};
  const same: string[] = [];
  for (const name of Object.keys(object)) {
    const [after, before] = [object[name], old[name]];
    const isSame = name !== "metadata" && (yield* deepEqualInSlices(after, before));
    if (isSame) same.push(name);
    else assign(changed, name, object[name]);
  }
  yield;
  const next = yield* servedJsonInSlices(resource, changed);
  for (const name of same) if (Object.hasOwn(live, name)) assign(next, name, live[name]);
  return next;
}

function servedObject({ served }: Resource, hub: any): any {
  return served.convert === "hub" ? hub : served.convert.down(hub);
}

/** The zero value of a kind as JSON. */
export const emptyObject = memoize((struct: StructType<any>): JsonObject =>
  toJsonValue(struct, fromJson(struct, {}, { root: true })),
);

const maxManagerBytes = 128;

const shortAsciiName = /^[ -~]{0,128}$/;

/** The printable characters of a user agent, up to the longest valid name of a manager. */
function printable(userAgent: string): string {
  if (shortAsciiName.test(userAgent)) return userAgent;
  let name = "";
  let bytes = 0;
  for (const character of userAgent) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > maxManagerBytes) break;
    name += character;
  }
  return name;
}

function versionsOf(registry: RegistryContext, resource: Resource): Versions {
  const { groupVersion, struct, served } = resource;
  const find = (apiVersion: string): Pick<KindVersion, "struct" | "convert"> | undefined => {
    if (apiVersion === groupVersion) return { struct, convert: served.convert };
    if (apiVersion.split("/").length > 2) {
      throw new ManagedFieldsError(`unexpected GroupVersion string: ${apiVersion}`);
    }
    const { domain } = registry.catalog;
    const { group: kindGroup, versions } = resource.kind;
    // Events are served in two groups, each of which is a kind of its own to managedFields.
    return versions.find(({ group = kindGroup, version }) => {
      const resolved = resolve(group, domain);
      return resolved === resource.group && groupVersionOf(resolved, version) === apiVersion;
    });
  };
  return {
    shapeOf: (apiVersion): Shape | undefined => {
      const found = find(apiVersion);
      return found && rootShape(found.struct);
    },
    convert: (object, from, to) => {
      const [source, destination] = [find(from), find(to)];
      if (source === undefined || destination === undefined) return object;
      const typeMeta = { kind: resource.kind.kind, apiVersion: to };
      const converted =
        resource.kind.custom === undefined
          ? convertBuiltin(object, { source, destination, typeMeta })
          : convertCustom(registry, object, { from, typeMeta });
      const fault = configurationFault(rootShape(destination.struct), converted);
      if (fault !== "") throw new ManagedFieldsError(fault);
      return converted;
    },
  };
}

interface VersionChange {
  readonly source: Pick<KindVersion, "struct" | "convert">;
  readonly destination: Pick<KindVersion, "struct" | "convert">;
  readonly typeMeta: { readonly kind: string; readonly apiVersion: string };
}

function convertBuiltin(
  object: JsonObject,
  { source, destination, typeMeta }: VersionChange,
): JsonObject {
  const { struct: sourceStruct, convert: up } = source;
  const { struct, convert: down } = destination;
  const decoded = decode(sourceStruct, object);
  const hub = up === "hub" ? decoded : up.up(decoded);
  return toJsonValue(struct, down === "hub" ? hub : down.down(hub), typeMeta);
}

/** Strategy None changes the apiVersion alone: what the other version does not specify remains. */
function convertCustom(
  { convertObject }: RegistryContext,
  object: JsonObject,
  { from, typeMeta }: { readonly from: string } & Pick<VersionChange, "typeMeta">,
): JsonObject {
  if (convertObject === undefined) return { ...object, ...typeMeta };
  return convertObject({ ...object, ...typeMeta, apiVersion: from }, typeMeta.apiVersion);
}

function decode(struct: StructType<any>, object: JsonObject): any {
  try {
    return fromJson(struct, object, { root: true });
  } catch (fault) {
    if (fault instanceof DecodeFault) throw new ManagedFieldsError(fault.message);
    throw fault;
  }
}

export type ManagedFields = readonly ManagedFieldsEntry[] | undefined;

/** managedFields of the object that is to be written; undefined for a deletion. */
export function managedFieldsOf({ object }: Pick<AdmissionAttributes, "object">): ManagedFields {
  return object?.metadata.managedFields;
}

/** Restores managedFields if admission made them invalid. Returns a warning about it. */
export function restoreManagedFields(
  { object }: Pick<AdmissionAttributes, "object">,
  before: ManagedFields,
): readonly string[] {
  const after = managedFieldsOf({ object });
  if (after === before) return [];
  const fault = entriesFault(after);
  if (fault === "") return [];
  setManagedFields(object.metadata, before ?? []);
  return [
    ".metadata.managedFields was in an invalid state after admission; this could be caused by " +
      `an outdated mutating admission controller; please fix your requests: ${fault}`,
  ];
}

/**
 * Restores the stored timestamps of managedFields if nothing else has changed, so that the write has no
 * effect. Changes `object` in place.
 */
export function* keepTimestamps(
  { hub }: Resource,
  { object, old, isLarge = false }: Pick<ManagedFieldsUpdate, "object" | "old" | "isLarge">,
): Slices<void> {
  const [after, before] = [entriesOf(object), entriesOf(old)];
  if (after.length === 0 || after.length !== before.length) return;
  if (after.every((entry, index) => entry.time === before[index]?.time)) return;
  for (const [index, entry] of after.entries()) {
    if (!(yield* isSameButTime(entry, before[index] ?? {}, isLarge))) return;
  }
  const [left, right] = [withoutEntries(object), withoutEntries(old)];
  if (isLarge ? yield* certainlyDifferInSlices(left, right) : certainlyDiffer(left, right)) return;
  yield;
  const text = storedJson(hub.struct, left);
  yield;
  if (text === storedJson(hub.struct, right)) object.metadata.managedFields = before;
}

function* isSameButTime(
  { time: _time, fieldsV1: fields, ...entry }: ManagedFieldsEntry,
  { time: _before, fieldsV1: otherFields, ...other }: ManagedFieldsEntry,
  isLarge: boolean,
): Slices<boolean> {
  if (!deepEqual(entry, other)) return false;
  if (!isLarge || fields === otherFields) return deepEqual(fields, otherFields);
  return yield* deepEqualInSlices(fields?.value, otherFields?.value);
}

function entriesOf({ metadata }: any): readonly ManagedFieldsEntry[] {
  return metadata.managedFields ?? [];
}

function withoutEntries(object: any): any {
  const { managedFields: _entries, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The stored JSON of an object without managedFields. */
function storedJson(struct: StructType<any>, object: any): string {
  const stored = deepClone(object);
  nullEmptyCollections(struct, stored);
  return toJson(struct, stored);
}
