import { setMaxListeners } from "node:events";
import { yieldEvery } from "#base";
import { ignoreNotFound } from "#meta";
import type { DeleteOptions, Item, ItemList, ListOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { delivered, list } from "../read/list.ts";
import { deleteObject } from "./delete.ts";
import { notForCollections } from "./unreadable.ts";

/** Concurrent deletions; a durable store commits them as one group. */
const concurrency = 16;

/**
 * Deletes all objects that a list with these options returns, and responds with that list. An object
 * that was deleted meanwhile is not an error; any other error stops after the current group.
 */
export async function deleteCollection(
  registry: RegistryContext,
  request: ResourceRequest,
  { list: listOptions, options }: { readonly list: ListOptions; readonly options: DeleteOptions },
): Promise<ItemList> {
  if (options.ignoreReadError === true) throw notForCollections(registry.catalog.domain);
  const found = await list(registry, request, listOptions);
  // Each concurrent deletion adds a listener.
  setMaxListeners(0, request.context.signal);
  const items: Item[] = [];
  for await (const item of found.items) items.push(item);
  const pause = yieldEvery();
  for (let start = 0; start < items.length; start += concurrency) {
    await pause();
    const results = await Promise.allSettled(
      items
        .slice(start, start + concurrency)
        .map((item) => deleteItem(registry, request, { item, options })),
    );
    const rejected = results.find((result) => result.status === "rejected");
    if (rejected !== undefined) throw rejected.reason;
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
