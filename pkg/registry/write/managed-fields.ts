import {
  certainlyDiffer,
  deepClone,
  deepEqual,
  type JsonObject,
  memoize,
  type Slices,
} from "#base";
import {
  createdFields,
  managedFieldsAtCreation,
  ElementError,
  managedFieldsAfterUpdate,
  entriesFault,
  excludedAtCreation,
  type ManagedFieldsEntry,
  type OwnedWrite,
  ManagedFieldsError,
  rootShape,
  type Shape,
  type Versions,
} from "#fieldmanager";
import { groupVersionOf, type KindVersion, type Resource, resolve } from "#meta";
import { DecodeFault, fromJson, type StructType, toJson, toJsonValue } from "#schema";
import type { ResourceRequest, AdmissionAttributes } from "../contract.ts";
import { nullEmptyCollections } from "../codec/null-empty-collections.ts";
import type { RegistryContext } from "../context.ts";
import { trackedFieldsOf } from "./managed-fields-scope.ts";

/**
 * metadata.managedFields records which manager owns which field. It is computed on the object as the
 * client sent it, in the request's version, before admission and the kind's own preparation.
 */

const lastApplied = "kubectl.{label}/last-applied-configuration";

/** A write by `manager`, or if that is "" by the user agent. */
export function managedWrite(
  registry: RegistryContext,
  request: ResourceRequest,
  manager: string,
): OwnedWrite {
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
  /** Wanted, in hub form; its managedFields are what the client sent. Changed in place. */
  readonly object: any;
  /** What is there; undefined for a creation. */
  readonly old: any;
  readonly fieldManager: string;
}

/** Assigns the fields that a create, replace or patch changes to its field manager. */
export function* updateManagedFields(
  registry: RegistryContext,
  request: ResourceRequest,
  owning: ManagedFieldsUpdate,
): Slices<void> {
  const { object, old } = owning;
  const sent: ManagedFields = object.metadata.managedFields;
  const entries =
    old === undefined && sent === undefined
      ? yield* entriesOfNew(registry, request, owning)
      : yield* entriesOfChanged(registry, request, { ...owning, sent });
  setManagedFields(object.metadata, entries);
}

/** By far the most frequent case, and so a way of its own. */
function* entriesOfNew(
  registry: RegistryContext,
  request: ResourceRequest,
  { object, fieldManager }: ManagedFieldsUpdate,
): Slices<NonNullable<ManagedFields>> {
  const { resource, subresource } = request;
  const scope = trackedFieldsOf(resource.kind, subresource);
  const { open } = resource.struct;
  if (subresource !== "" || !("ignored" in scope) || open !== undefined) {
    return yield* entriesOfChanged(registry, request, { object, old: undefined, fieldManager });
  }
  const left = excludedAtCreation(scope.ignored);
  try {
    const fields = createdFields(resource.struct, servedObject(resource, object), left);
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

function entriesOfChanged(
  registry: RegistryContext,
  request: ResourceRequest,
  { object, old, fieldManager, sent }: ManagedFieldsUpdate & { readonly sent?: ManagedFields },
): Slices<NonNullable<ManagedFields>> {
  const { resource } = request;
  return managedFieldsAfterUpdate(managedWrite(registry, request, fieldManager), {
    live: () => (old === undefined ? emptyObject(resource.struct) : servedJson(resource, old)),
    next: () => servedJson(resource, object),
    creation: old === undefined,
    entries: old?.metadata.managedFields,
    sent,
  });
}

export function setManagedFields(metadata: any, entries: readonly ManagedFieldsEntry[]): void {
  if (entries.length === 0) delete metadata.managedFields;
  else metadata.managedFields = entries;
}

/** Marks that the client takes all owners away, which the decoder would not tell from silence. */
export function markManagedFieldsCleared(document: unknown, object: any): void {
  const metadata = (document as { readonly metadata?: unknown } | undefined)?.metadata;
  const sent = (metadata as { readonly managedFields?: unknown } | undefined)?.managedFields;
  if (Array.isArray(sent) && sent.length === 0) object.metadata.managedFields = [];
}

/** A hub object as JSON in the version of the resource, without its owners. */
export function servedJson(resource: Resource, hub: any): JsonObject {
  const object = servedObject(resource, hub);
  const { managedFields: _entries, ...metadata } = object.metadata;
  return toJsonValue(resource.struct, { ...object, metadata });
}

function servedObject({ served }: Resource, hub: any): any {
  return served.convert === "hub" ? hub : served.convert.down(hub);
}

/** The object of a kind with nothing set, as JSON. */
export const emptyObject = memoize((struct: StructType<any>): JsonObject =>
  toJsonValue(struct, fromJson(struct, {}, { root: true })),
);

const longestManager = 128;

const plainName = /^[ -~]{0,128}$/;

/** The printable part of a user agent, as far as a manager's name may be long. */
function printable(userAgent: string): string {
  if (plainName.test(userAgent)) return userAgent;
  let name = "";
  let bytes = 0;
  for (const character of userAgent) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > longestManager) break;
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
    const { group: usual, versions } = resource.kind;
    // Versions of another group, as events have them, are those of another kind here.
    return versions.find(({ group = usual, version }) => {
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
      if (registry.convertObject !== undefined) {
        const asked = registry.convertObject({ ...object, ...typeMeta, apiVersion: from }, to);
        return toJsonValue(destination.struct, decode(destination.struct, asked), typeMeta);
      }
      const { struct: sourceStruct, convert: up } = source;
      const { convert: down } = destination;
      const decoded = decode(sourceStruct, object);
      const hub = up === "hub" ? decoded : up.up(decoded);
      const converted = down === "hub" ? hub : down.down(hub);
      return toJsonValue(destination.struct, converted, typeMeta);
    },
  };
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

/** The owners of what is about to be written; a deletion writes nothing. */
export function managedFieldsOf({ object }: Pick<AdmissionAttributes, "object">): ManagedFields {
  return object?.metadata.managedFields;
}

/** Takes back what admission made of owners if that cannot be read, and warns of it. */
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
 * Takes back the new times of owners if nothing else has changed, so that the write is none.
 * Changes `object` in place.
 */
export function keepTimestamps({ hub }: Resource, object: any, old: any): void {
  const [now, before] = [entriesOf(object), entriesOf(old)];
  if (now.length === 0 || now.length !== before.length) return;
  if (now.every((entry, index) => entry.time === before[index]?.time)) return;
  const isSame = now.every((entry, index) => isSameButTime(entry, before[index]));
  if (!isSame || isOtherwiseChanged(hub.struct, object, old)) return;
  object.metadata.managedFields = old.metadata.managedFields;
}

function isSameButTime(entry: ManagedFieldsEntry, other: ManagedFieldsEntry | undefined): boolean {
  return deepEqual({ ...entry, time: undefined }, { ...other, time: undefined });
}

/** Whether two objects are stored as different JSON, apart from managedFields. */
function isOtherwiseChanged(struct: StructType<any>, object: any, old: any): boolean {
  const [left, right] = [withoutManagedFields(object), withoutManagedFields(old)];
  return certainlyDiffer(left, right) || storedJson(struct, left) !== storedJson(struct, right);
}

function entriesOf({ metadata }: any): readonly ManagedFieldsEntry[] {
  return metadata.managedFields ?? [];
}

function withoutManagedFields(object: any): any {
  const { managedFields: _entries, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function storedJson(struct: StructType<any>, object: any): string {
  const stored = deepClone(object);
  nullEmptyCollections(struct, stored);
  return toJson(struct, stored);
}
