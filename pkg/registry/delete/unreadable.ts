import { type Domain, invalid, metaGroupOf, StatusError } from "#meta";
import { Path, Problems } from "#schema";
import type { Entry } from "#storage";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { isNamespace } from "../admission/namespace-lifecycle.ts";
import type { StoredItem } from "../codec/stored.ts";
import { ignoreReadErrorField } from "./delete-options.ts";

/** Whether the stored value can be decrypted and decoded. */
export function isDecodable(item: StoredItem): boolean {
  try {
    return item.object !== undefined;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}

/** 422: the option to ignore read errors is only for objects that cannot be read. */
export function notCorrupt({ resource, name }: ResourceRequest): StatusError {
  const problems = new Problems();
  const detail =
    "is exclusively used to delete corrupt object(s), try again by removing this option";
  problems.invalid(Path.of(ignoreReadErrorField), true, detail);
  // kube-apiserver names the resource where the kind belongs.
  return invalid({ group: resource.group, kind: resource.plural }, name, problems);
}

/** 422: a collection is never deleted without reading its objects. */
export function notForCollections(domain: Domain): StatusError {
  const problems = new Problems();
  const detail = "is not allowed with DELETECOLLECTION, try again after removing the option";
  problems.invalid(Path.of(ignoreReadErrorField), true, detail);
  return invalid({ group: metaGroupOf(domain), kind: "DeleteOptions" }, "", problems);
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
