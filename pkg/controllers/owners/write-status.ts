import type { ApiObject, Client, Draft, Handle } from "#client";

/**
 * Writes the status of an object, and retries once with the newest version. Returns the written object;
 * undefined = another object (uid) has the name by now.
 */
export async function writeStatus<T extends ApiObject & { readonly status?: object }>(
  client: Client,
  resource: Handle<T>,
  { object, statusOn }: { readonly object: T; readonly statusOn: (version: T) => object },
): Promise<T | undefined> {
  const { namespace = "", name, uid } = object.metadata;
  const write = (version: T) => {
    const draft = { ...version, status: statusOn(version) } as Draft<T>;
    return client.update(resource, draft, { subresource: "status" });
  };
  return write(object).catch(async () => {
    const fresh = await client.get(resource, { namespace, name });
    return fresh.metadata.uid === uid ? write(fresh) : undefined;
  });
}
