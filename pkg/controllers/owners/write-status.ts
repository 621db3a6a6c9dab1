import type { ApiObject, Client, Draft, Handle } from "#client";
import type { WrittenObjects } from "../written-objects.ts";

interface StatusWrite<T extends ApiObject> {
  readonly object: T;
  readonly statusOn: (version: T) => object;
  /** Gets the object as the server has stored it. */
  readonly written: WrittenObjects<T>;
}

/**
 * Writes the status of an object, and retries once with the newest version, unless another object
 * (uid) has the name by now.
 */
export async function writeStatus<T extends ApiObject & { readonly status?: object }>(
  client: Client,
  resource: Handle<T>,
  { object, statusOn, written }: StatusWrite<T>,
): Promise<void> {
  const { namespace = "", name, uid } = object.metadata;
  const write = async (version: T) => {
    const draft = { ...version, status: statusOn(version) } as Draft<T>;
    written.add(await client.update(resource, draft, { subresource: "status" }));
  };
  await write(object).catch(async () => {
    const fresh = await client.get(resource, { namespace, name });
    if (fresh.metadata.uid === uid) await write(fresh);
  });
}
