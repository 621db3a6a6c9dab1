import { StatusError } from "#meta";
import type { Entry } from "#storage";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { isNamespace } from "../admission/namespace-lifecycle.ts";
import type { StoredItem } from "../codec/stored.ts";

/** Whether the stored value can be decrypted and decoded. */
export function isDecodable(item: StoredItem): boolean {
  try {
    return item.object !== undefined;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}

/**
 * Deletes an undecodable object immediately: its finalizers and grace period are unknown. The repair
 * loop reclaims its addresses and ports. Returns false if another writer changed it first.
 */
export async function deleteUnreadable(
  registry: RegistryContext,
  request: ResourceRequest,
  { key, modRevision }: Entry,
): Promise<boolean> {
  const { done } = await registry.store.delete(key, modRevision, request.context);
  if (done && isNamespace(request.resource)) registry.namespaces.invalidate(request.name);
  return done;
}
