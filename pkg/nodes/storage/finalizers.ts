import { type ApiObject, type Client, type Handle, RequeueAfter } from "#client";
import { ignoreNotFound, StatusError } from "#meta";

/** Retry delay after another writer changed the finalizers. */
const changedMs = 50;

/**
 * Adds a finalizer to an object, or removes it, if its finalizers are unchanged. Ignores a deleted object.
 * @returns the updated object; undefined = deleted
 * @throws RequeueAfter if the finalizers have changed meanwhile
 */
export async function setFinalizer<T extends ApiObject>(
  client: Client,
  { resource, object }: { readonly resource: Handle<T>; readonly object: T },
  { finalizer, isSet }: { readonly finalizer: string; readonly isSet: boolean },
): Promise<T | undefined> {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = object.metadata;
  if (finalizers.includes(finalizer) === isSet) return object;
  const next = isSet ? [...finalizers, finalizer] : finalizers.filter((each) => each !== finalizer);
  const at = { name, ...(namespace === undefined ? {} : { namespace }) };
  const path = "/metadata/finalizers";
  const known =
    finalizers.length === 0
      ? { op: "test", path: "/metadata/resourceVersion", value: resourceVersion }
      : { op: "test", path, value: finalizers };
  const change = next.length === 0 ? { op: "remove", path } : { op: "add", path, value: next };
  const body = [{ op: "test", path: "/metadata/uid", value: uid }, known, change];
  return client
    .patch(resource, at, { type: "json", body })
    .catch(ignoreNotFound)
    .catch((error: unknown) => {
      if (!(error instanceof StatusError) || (error.code !== 422 && error.code !== 409))
        throw error;
      throw new RequeueAfter(`the finalizers of ${name} have changed`, changedMs);
    });
}
