import type { ApiObject, Client, Handle } from "#client";
import { ignoreNotFound, isNotFound, StatusError } from "#meta";
import { combinedError } from "./combined-error.ts";
import { controllerOf, controllerRef } from "./controller-ref.ts";

export interface ClaimOptions<T extends ApiObject> {
  readonly client: Client;
  /** Resource of the objects. */
  readonly resource: Handle<T>;
  /** The controller, from an informer. */
  readonly owner: ApiObject;
  readonly ownerResource: Handle;
  /** Whether the controller's selector matches an object. */
  readonly matches: (object: T) => boolean;
  /** Finalizers that are added on adoption and removed on release. */
  readonly finalizers?: readonly string[];
}

/**
 * Returns the objects of a controller, after adopting matching orphans and releasing owned objects that do
 * not match. Before the first adoption the controller is read live, since the cached one may be stale.
 * @throws Error that combines the errors of single objects, after all have been tried
 */
export async function claimObjects<T extends ApiObject>(
  objects: Iterable<T>,
  options: ClaimOptions<T>,
): Promise<readonly T[]> {
  const { owner, matches } = options;
  const isTerminating = owner.metadata.deletionTimestamp !== undefined;
  const claimed: T[] = [];
  const failures: unknown[] = [];
  const canAdopt = once(() => checkAdoption(options));
  for (const object of objects) {
    const controller = controllerOf(object);
    if (controller !== undefined && controller.uid !== owner.metadata.uid) continue;
    const isOwned = controller !== undefined;
    const isMatch = matches(object);
    if (isOwned && isMatch) {
      claimed.push(object);
    } else if (!isTerminating && isOwned) {
      await release(object, options).catch((error: unknown) => failures.push(error));
    } else if (!isTerminating && isMatch && object.metadata.deletionTimestamp === undefined) {
      try {
        if (await adopt(object, options, canAdopt)) claimed.push(object);
      } catch (error) {
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw combinedError(failures);
  return claimed;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => (result ??= work());
}

async function checkAdoption<T extends ApiObject>(options: ClaimOptions<T>): Promise<void> {
  const { client, owner, ownerResource } = options;
  const { namespace = "", name, uid } = owner.metadata;
  const fresh = await client.get(ownerResource, { namespace, name });
  if (fresh.metadata.uid !== uid) {
    const original = `original ${ownerResource.kind} ${namespace}/${name}`;
    throw new Error(`${original} is gone: got uid ${fresh.metadata.uid}, wanted ${uid}`);
  }
  const { deletionTimestamp } = fresh.metadata;
  if (deletionTimestamp !== undefined) {
    throw new Error(`${namespace}/${name} has just been deleted at ${deletionTimestamp}`);
  }
}

/** Adds the controller reference; returns false if the object no longer exists. */
async function adopt<T extends ApiObject>(
  object: T,
  { client, resource, owner, ownerResource, finalizers = [] }: ClaimOptions<T>,
  canAdopt: () => Promise<void>,
): Promise<boolean> {
  const { namespace = "", name, uid } = object.metadata;
  await canAdopt().catch((error: unknown) => {
    const what = `can't adopt ${resource.kind} ${namespace}/${name} (${uid})`;
    throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
  });
  const ownerReferences = [controllerRef(ownerResource, owner)];
  const added = finalizers.length === 0 ? {} : { finalizers };
  const body = { metadata: { uid, ownerReferences, ...added } };
  try {
    await client.patch(resource, { namespace, name }, { type: "strategic", body });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Removes the controller reference. Ignores 404, and 422 for another object of the name (other uid). */
async function release<T extends ApiObject>(
  object: T,
  { client, resource, owner, finalizers = [] }: ClaimOptions<T>,
): Promise<void> {
  const { namespace = "", name, uid } = object.metadata;
  const removed =
    finalizers.length === 0 ? {} : { "$deleteFromPrimitiveList/finalizers": finalizers };
  const ownerReferences = [{ $patch: "delete", uid: owner.metadata.uid }];
  const body = { metadata: { uid, ownerReferences, ...removed } };
  await client
    .patch(resource, { namespace, name }, { type: "strategic", body })
    .catch((error: unknown) => {
      if (error instanceof StatusError && error.code === 422) return;
      ignoreNotFound(error);
    });
}
