import { setMaxListeners } from "node:events";
import { yieldEvery } from "#base";
import { ignoreNotFound } from "#meta";
import type { DeleteOptions, Item, ItemList, ListOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { delivered, list } from "../read/list.ts";
import { deleteObject } from "./delete.ts";

/** Deletions under way at a time; a durable store makes one group of them. */
const width = 16;

/**
 * DELETE of a collection: removes what a list with these options shows, and answers that list as it
 * was. What others removed meanwhile counts as removed. Stops at the first deletion that is
 * refused.
 */
export async function deleteCollection(
  registry: RegistryContext,
  request: ResourceRequest,
  { list: listOptions, options }: { readonly list: ListOptions; readonly options: DeleteOptions },
): Promise<ItemList> {
  const found = await list(registry, request, listOptions);
  // All that are under way listen to it.
  setMaxListeners(0, request.context.signal);
  const items: Item[] = [];
  for await (const item of found.items) items.push(item);
  const pause = yieldEvery();
  for (let start = 0; start < items.length; start += width) {
    await pause();
    const results = await Promise.allSettled(
      items
        .slice(start, start + width)
        .map((item) => deleteItem(registry, request, { item, options })),
    );
    const refused = results.find((result) => result.status === "rejected");
    if (refused !== undefined) throw refused.reason;
  }
  return { ...found, ...delivered([items]) };
}

async function deleteItem(
  registry: RegistryContext,
  request: ResourceRequest,
  { item, options }: { readonly item: Item; readonly options: DeleteOptions },
): Promise<void> {
  const { name = "", namespace = "" } = item.object.metadata;
  const named = { ...request, name, namespace };
  await deleteObject(registry, named, options, { ofCollection: true }).catch(ignoreNotFound);
}
