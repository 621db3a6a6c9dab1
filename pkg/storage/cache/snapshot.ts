import type { SortedMap } from "#base";
import { type Backend, type Entry, prefixEnd } from "../backend.ts";
import type { Page, PageOptions, Snapshot } from "../store.ts";

/** A state in memory: `entries` never changes. */
export function cachedSnapshot(entries: SortedMap<Entry>, revision: number): Snapshot {
  return {
    revision,
    async page(prefix, { limit, after, signal }): Promise<Page> {
      signal?.throwIfAborted();
      const [from, to] = [startOf(prefix, after), prefixEnd(prefix)];
      const runs = entries.runs(from, to, limit);
      const found = runs.reduce((sum, { length }) => sum + length, 0);
      return { runs, remaining: found < limit ? 0 : entries.count(from, to) - found };
    },
  };
}

/** A state that only the store still has, read page by page. */
export function storedSnapshot(store: {
  readonly backend: Backend;
  readonly root: string;
  readonly revision: number;
}): Snapshot {
  const { backend, root, revision } = store;
  return {
    revision,
    async page(prefix, { limit, after, signal }: PageOptions): Promise<Page> {
      const [from, to] = [startOf(prefix, after), prefixEnd(prefix)];
      const range = { from: root + from, to: root + to, limit, revision };
      const found = await backend.range(signal === undefined ? range : { ...range, signal });
      const relative = (entry: Entry): Entry => ({ ...entry, key: entry.key.slice(root.length) });
      const entries = found.entries.map(relative);
      return { runs: [entries], remaining: found.count - entries.length };
    },
  };
}

/** The successor of a key in byte order is the key with a zero byte behind it. */
function startOf(prefix: string, after: string | undefined): string {
  return after === undefined || after < prefix ? prefix : `${after}\0`;
}
