import { assert, assign, atOnce, type Awaitable, inTurns } from "#base";
import type { Entry, WriteOutcome } from "#storage";
import {
  encodeStoredInSlices,
  setResourceVersion,
  storageKey,
  StoredItem,
} from "../codec/stored.ts";
import { hasOmittedCollections } from "../codec/omitted-collections.ts";
import type { RegistryContext } from "../context.ts";
import type { ResourceRequest } from "../contract.ts";
import { isReadyToDelete } from "../delete/delete.ts";
import { refuseChangedDefinition, refuseTerminatingDefinition } from "./custom-resource-errors.ts";
import { writeWithSizeFallback } from "./size-fallback.ts";
import type { Write } from "./write.ts";

type StoredEntry = Pick<Entry, "key" | "value" | "modRevision" | "derived">;

/**
 * Stores a new object and sets the response; if the name is taken, the response remains undefined.
 * A dry run only checks whether the name is free.
 */
export async function compareAndCreate(write: Write): Promise<void> {
  const { registry, request, object, applies } = write;
  const { resource, context } = request;
  const { store } = registry;
  const key = storageKey(request, object.metadata.name);
  if (write.dryRun) {
    const { entry } = await store.get(key, context);
    if (entry === undefined) await respondDryRun(write, key);
    return;
  }
  const encoding = encode(write);
  const encoded = encoding instanceof Promise ? await encoding : encoding;
  refuseTerminatingDefinition(request, object);
  refuseChangedDefinition(registry, request);
  const create = (value: Uint8Array): Promise<Entry | undefined> =>
    store.create(key, value, storeOptions(registry, request));
  const sized = { object, encoded, applies, write: create };
  const stored = await writeWithSizeFallback(registry, resource, sized);
  if (stored === undefined) return;
  write.stored = true;
  respond(write, stored);
}

/**
 * Replaces the stored object if its revision is still that of `entry`, and sets the response; sets
 * `conflict` otherwise. If the write removes the last finalizer of a terminating object, the object is
 * deleted. An unchanged object is not written.
 */
export async function compareAndSwap(write: Write): Promise<void> {
  const { registry, request, object, entry, applies } = write;
  assert(entry !== undefined, "an update has a stored object");
  const { resource, context } = request;
  const { key, modRevision } = entry;
  const encoding = encode(write);
  const value = encoding instanceof Promise ? await encoding : encoding;
  const deletes = isReadyToDelete(resource, object);
  if (write.dryRun) return respond(write, { key, value, modRevision });
  const isFresh = entry.encryption?.stale !== true;
  if (!deletes && isFresh && Buffer.compare(value, entry.value) === 0) return respond(write, entry);
  refuseChangedDefinition(registry, request);
  const { store } = registry;
  const update = (encoded: Uint8Array): Promise<WriteOutcome> =>
    store.update(key, modRevision, encoded, storeOptions(registry, request));
  const outcome = deletes
    ? await store.delete(key, modRevision, context)
    : await writeWithSizeFallback(registry, resource, {
        object,
        encoded: value,
        applies,
        write: update,
      });
  if (!outcome.done) {
    write.conflict = { current: outcome.current };
    return;
  }
  write.stored = true;
  respond(write, deletes ? { key, value, modRevision } : outcome.entry);
}

/** Encodes the object; a large one in turns with other requests, for which its definition may change. */
function encode({ registry, request, object, isLarge }: Write): Awaitable<Uint8Array> {
  const slices = encodeStoredInSlices(registry, request.resource, object);
  return isLarge ? inTurns(slices) : atOnce(slices);
}

/** Responds to a dry-run create; the object keeps a resourceVersion that the client set. */
async function respondDryRun(write: Write, key: string): Promise<void> {
  const { object } = write;
  const { resourceVersion } = object.metadata;
  const value = await encode(write);
  const item = itemOf(write, { key, value, modRevision: 0 });
  if (resourceVersion) assign(item.object.metadata, "resourceVersion", resourceVersion);
  write.response = { item, created: true, warnings: write.warnings };
}

function respond(write: Write, entry: StoredEntry): void {
  const created = write.current === undefined;
  write.response = { item: itemOf(write, entry), created, warnings: write.warnings };
}

function itemOf(write: Write, entry: StoredEntry): StoredItem {
  const { registry, request, object } = write;
  const { stored, kind } = request.resource;
  // Conversion to a stored version other than the hub may lose fields, so the stored bytes are decoded.
  if (stored.convert !== "hub" || kind.custom?.conversion !== undefined) {
    return new StoredItem(registry, request, entry);
  }
  setResourceVersion(object, entry.modRevision);
  // Hooks and admission may have removed what a reader of the stored bytes sees as a default.
  const isEncoded = stored.struct.open?.applyDefaults(object) !== true;
  // An object that was changed is likely to be changed again; most new ones are not read soon.
  const isShared = write.stored && write.current !== undefined && "derived" in entry;
  return isShared && isSameAsDecoded(write)
    ? StoredItem.written(registry, request, entry, object)
    : new StoredItem(registry, request, entry, { object, isEncoded });
}

/** Whether decoding the stored bytes would give an equal object. */
function isSameAsDecoded({ registry, request, object }: Write): boolean {
  const { struct } = request.resource.hub;
  return registry.storageMediaType === "json" && !hasOmittedCollections(struct, object);
}

function storeOptions(
  registry: RegistryContext,
  { resource, context }: ResourceRequest,
): { readonly signal: AbortSignal; readonly ttlSeconds?: number } {
  return resource.kind.rules.expires
    ? { signal: context.signal, ttlSeconds: registry.eventTtlSeconds }
    : context;
}
