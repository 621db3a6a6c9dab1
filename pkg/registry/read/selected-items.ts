import { memoize } from "#base";
import type { Resource } from "#meta";
import type { Entry } from "#storage";
import { isReadable, StoredItem, untransformable } from "../codec/stored.ts";
import type { RegistryContext } from "../context.ts";
import type { Selection, Trigger } from "./selection.ts";

/** Returns the readable items of a run of entries that match a selection. */
export type Select = (run: readonly Entry[]) => readonly StoredItem[];

/**
 * The filter of a selection over the runs of snapshots. Without a selector all callers share one array
 * per run. A selector that requires one value of a field scans the column of that field, and evaluates
 * the rest of the selection only for items that have the value.
 */
export function selectorOf(
  registry: RegistryContext,
  resource: Resource,
  { empty, matches, trigger }: Selection,
): Select {
  const runItemsOf = runItems(registry)(resource);
  if (empty) return (run) => runItemsOf(run).items;
  if (trigger === undefined) return (run) => runItemsOf(run).items.filter(matches);
  return (run) => {
    const itemsOfRun = runItemsOf(run);
    const { items } = itemsOfRun;
    const column = itemsOfRun.column(trigger);
    const found: StoredItem[] = [];
    for (
      let at = column.indexOf(trigger.value);
      at >= 0;
      at = column.indexOf(trigger.value, at + 1)
    )
      if (matches(items[at]!)) found.push(items[at]!);
    return found;
  };
}

/**
 * The items of one run. Runs are leaves of the persistent map of the watch cache; snapshots share a leaf
 * until one of its entries changes. So items derived from a run are valid in every snapshot that
 * contains it, and a write costs nothing until the next read of its leaf.
 */
class RunItems {
  readonly items: readonly StoredItem[];
  readonly #columns = new Map<string, readonly string[]>();

  constructor(items: readonly StoredItem[]) {
    this.items = items;
  }

  /** The value of a field in each item. Bounded by the number of fields of the kind. */
  column({ field, valueOf }: Trigger): readonly string[] {
    let column = this.#columns.get(field);
    if (column === undefined) {
      column = this.items.map(valueOf);
      this.#columns.set(field, column);
    }
    return column;
  }
}

const runItems = memoize((registry: RegistryContext) =>
  memoize((resource: Resource) =>
    memoize((run: readonly Entry[]) => {
      const fault = run.find((entry) => !isReadable(entry));
      if (fault !== undefined) throw untransformable(registry, resource, fault);
      return new RunItems(run.map((entry) => StoredItem.shared(registry, resource, entry)));
    }),
  ),
);
