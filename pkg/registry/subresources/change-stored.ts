import { deepClone } from "#base";
import { notFound } from "#meta";
import type { Entry } from "#storage";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { retryOnConflict } from "../write/write-conflict.ts";
import { encodeStored, storageKey, setResourceVersion, StoredItem } from "../codec/stored.ts";

interface StoredChange {
  /** Checks preconditions on the stored object; throws a StatusError. */
  readonly check?: (current: StoredItem) => void;
  /** Changes the object in place, or throws a StatusError; repeated after a conflict. */
  readonly change: (object: any) => void;
  readonly dryRun: boolean;
}

/**
 * Changes a stored object without admission and validation, for subresources that make a fixed change.
 * Returns the changed object. Throws 404.
 */
export async function changeStored(
  registry: RegistryContext,
  request: ResourceRequest,
  { check, change, dryRun }: StoredChange,
): Promise<StoredItem> {
  const { store } = registry;
  const { context } = request;
  const key = storageKey(request);
  return retryOnConflict(registry, { key, context, optimistic: !dryRun }, async (entry) => {
    if (entry === undefined) throw notFound(request.resource, request.name);
    const current = StoredItem.of(registry, request, entry);
    check?.(current);
    const object = deepClone(current.object);
    change(object);
    const value = encodeStored(registry, request.resource, object);
    const itemOf = (written: Pick<Entry, "key" | "value" | "modRevision">): StoredItem =>
      new StoredItem(registry, request, written, { object, isEncoded: true });
    if (dryRun) return { response: itemOf({ ...entry, value }), isStored: false };
    if (Buffer.compare(value, entry.value) === 0) return { response: current, isStored: false };
    const outcome = await store.update(key, entry.modRevision, value, context);
    if (!outcome.done) return outcome;
    setResourceVersion(object, outcome.entry.modRevision);
    return { response: itemOf(outcome.entry), isStored: true };
  });
}
