import { notFound, plainFailure, tooLargeResourceVersion } from "#meta";
import type { GetOptions, Item, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { storageKey, StoredItem } from "../codec/stored.ts";
import { parseResourceVersion, resourceVersionFault } from "../write/preconditions.ts";

/**
 * Reads one object: the newest version, or one not older than `resourceVersion` ("0" = any cached one).
 * Throws 404, 504 for a future resourceVersion, and 500 for a malformed one.
 */
export async function get(
  registry: RegistryContext,
  request: ResourceRequest,
  { resourceVersion, ownWrites = false }: GetOptions,
): Promise<Item> {
  const minimum = resourceVersion === "" ? 0n : parseResourceVersion(resourceVersion);
  if (minimum === undefined) throw plainFailure(malformedVersion(resourceVersion));
  const key = storageKey(request);
  const { resource } = request;
  const collection = registry.store.collection(resource.keyPrefix);
  const consistent = resourceVersion === "" && !ownWrites;
  const least = ownWrites ? collection.written : Number(minimum);
  const atLeast = consistent ? {} : { atLeast: least };
  const { entry, revision } = await collection.get(key, atLeast);
  if (minimum > BigInt(revision)) {
    throw tooLargeResourceVersion(minimum, revision, { isCached: !resource.kind.rules.expires });
  }
  if (entry === undefined) throw notFound(resource, request.name);
  const item = StoredItem.shared(registry, resource, entry);
  // Of custom resources the server sees in the object whether the bytes are those of its schema.
  if (resource.kind.custom !== undefined) await item.decodeAhead();
  return item;
}

/**
 * The cached object, without waiting; undefined unless the cache has it and contains all writes of this
 * process to the collection.
 */
export function cached(registry: RegistryContext, request: ResourceRequest): Item | undefined {
  const { store } = registry;
  const { span, written } = store.collection(request.resource.keyPrefix);
  if (span === undefined || span.to < written) return undefined;
  const entry = store.known(storageKey(request))?.entry;
  return entry && StoredItem.shared(registry, request.resource, entry);
}

/** kube-apiserver's message for a resourceVersion that is not an unsigned integer. */
export function malformedVersion(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${resourceVersionFault(text)}`;
}
