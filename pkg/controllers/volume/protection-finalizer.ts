import { type ApiObject, type Client, type Draft, type Handle, RequeueAfter } from "#client";
import { isConflict, isNotFound } from "#meta";

/** Protection of a kind by a finalizer while its objects are in use. */
export interface Protection<T extends ApiObject> {
  readonly client: Client;
  readonly resource: Handle<T>;
  readonly finalizer: string;
  readonly isUsed: (object: T) => boolean | Promise<boolean>;
}

/** Whether to add the finalizer, or to check its removal from a deleted object. */
export function needsProtectionSync({ metadata }: ApiObject, finalizer: string): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata;
  return finalizers.includes(finalizer) === (deletionTimestamp !== undefined);
}

/**
 * Adds the finalizer to an object that lacks it, and removes it from a deleted one that is not in use. The
 * update carries the resourceVersion, so that a stale one conflicts.
 */
export async function syncProtection<T extends ApiObject>(
  object: T,
  { client, resource, finalizer, isUsed }: Protection<T>,
): Promise<void> {
  if (!needsProtectionSync(object, finalizer)) return;
  const { metadata } = object;
  const { deletionTimestamp, finalizers = [] } = metadata;
  if (deletionTimestamp !== undefined && (await isUsed(object))) return;
  const next =
    deletionTimestamp === undefined
      ? [...finalizers, finalizer]
      : finalizers.filter((name) => name !== finalizer);
  const draft = { ...object, metadata: { ...metadata, finalizers: next } } as Draft<T>;
  await client.update(resource, draft).catch((error: unknown) => {
    if (isConflict(error)) throw new RequeueAfter(`${metadata.name} has changed`);
    if (!isNotFound(error)) throw error;
  });
}
