import type { SortedMap } from "#base";
import { type Backend, type Entry, prefixEnd } from "../backend.ts";
import type { Page, PageOptions, Snapshot } from "../store.ts";

/** A snapshot of immutable cached entries. */
export function cachedSnapshot(entries: SortedMap<Entry>, revision: number): Snapshot {
  return {
    revision,
    async page(prefix, { limit, after, signal }): Promise<Page> {
      signal?.throwIfAborted();
      const [from, to] = [startOf(prefix, after), prefixEnd(prefix)];
      const runs = entries.runs(from, to, limit);
      const count = runs.reduce((sum, { length }) => sum + length, 0);
      return { runs, remaining: count < limit ? 0 : entries.count(from, to) - count };
    },
  };
}

/** A snapshot that is read from the store page by page. */
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
      const result = await backend.range(signal === undefined ? range : { ...range, signal });
      const relative = (entry: Entry): Entry => ({ ...entry, key: entry.key.slice(root.length) });
      const entries = result.entries.map(relative);
      return { runs: [entries], remaining: result.count - entries.length };
    },
  };
}

/** First key of a page: the next key in byte order is the key with a zero byte appended. */
function startOf(prefix: string, after: string | undefined): string {
  return after === undefined || after < prefix ? prefix : `${after}\0`;
}
