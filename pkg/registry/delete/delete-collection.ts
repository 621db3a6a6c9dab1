import { setMaxListeners } from "node:events";
import { turns } from "#base";
import { ignoreNotFound } from "#meta";
import type { DeleteOptions, Item, ItemList, ListOptions, Target } from "../contract.ts";
import type { Environment } from "../context.ts";
import { delivered, list } from "../read/list.ts";
import { remove } from "./delete.ts";

/** Deletions under way at a time; a durable store makes one group of them. */
const width = 16;

/**
 * DELETE of a collection: removes what a list with these options shows, and answers that list as it
 * was. What others removed meanwhile counts as removed. Stops at the first deletion that is
 * refused.
 */
export async function removeCollection(
  environment: Environment,
  target: Target,
  { list: listOptions, options }: { readonly list: ListOptions; readonly options: DeleteOptions },
): Promise<ItemList> {
  const found = await list(environment, target, listOptions);
  // All that are under way listen to it.
  setMaxListeners(0, target.life.signal);
  const items: Item[] = [];
  for await (const item of found.items) items.push(item);
  const turn = turns();
  for (let start = 0; start < items.length; start += width) {
    await turn();
    const results = await Promise.allSettled(
      items
        .slice(start, start + width)
        .map((item) => removeItem(environment, target, { item, options })),
    );
    const refused = results.find((result) => result.status === "rejected");
    if (refused !== undefined) throw refused.reason;
  }
  return { ...found, ...delivered([items]) };
}

async function removeItem(
  environment: Environment,
  target: Target,
  { item, options }: { readonly item: Item; readonly options: DeleteOptions },
): Promise<void> {
  const { name = "", namespace = "" } = item.object.metadata;
  await remove(environment, { ...target, name, namespace }, options).catch(ignoreNotFound);
}
