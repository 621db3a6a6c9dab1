import { notFound, plainFailure, tooLargeResourceVersion } from "#meta";
import type { GetOptions, Item, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { storageKey, StoredItem } from "../codec/stored.ts";
import { parseResourceVersion, resourceVersionFault } from "../write/preconditions.ts";

/**
 * GET of one object: the newest state; with a version one that is not older, 0 being any.
 * Throws 404, 504 for a version from the future, 500 for one that is no number.
 */
export async function get(
  registry: RegistryContext,
  request: ResourceRequest,
  { resourceVersion, ownWrites = false }: GetOptions,
): Promise<Item> {
  const asked = resourceVersion === "" ? 0n : parseResourceVersion(resourceVersion);
  if (asked === undefined) throw plainFailure(malformedVersion(resourceVersion));
  const key = storageKey(request);
  const { resource } = request;
  const collection = registry.store.collection(resource.keyPrefix);
  const consistent = resourceVersion === "" && !ownWrites;
  const least = ownWrites ? collection.written : Number(asked);
  const atLeast = consistent ? {} : { atLeast: least };
  const { entry, revision } = await collection.get(key, atLeast);
  if (asked > BigInt(revision)) throw tooLargeResourceVersion(asked, revision);
  if (entry === undefined) throw notFound(resource, request.name);
  return StoredItem.shared(registry, resource, entry);
}

/**
 * The object as the cache shows it, without waiting; undefined unless the cache has it and
 * everything that this process wrote to the collection.
 */
export function cached(registry: RegistryContext, request: ResourceRequest): Item | undefined {
  const { store } = registry;
  const { span, written } = store.collection(request.resource.keyPrefix);
  if (span === undefined || span.to < written) return undefined;
  const entry = store.known(storageKey(request))?.entry;
  return entry && StoredItem.shared(registry, request.resource, entry);
}

/** How Kubernetes tells that a version is no number where it expects one. */
export function malformedVersion(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${resourceVersionFault(text)}`;
}
