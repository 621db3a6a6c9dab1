import assert from "node:assert/strict";
import { seededRandom, SortedMap } from "#base";
import type { Entry } from "../backend.ts";
import type { Change } from "../store.ts";
import { WatchCache } from "./watch-cache.ts";

function entry(key: string, revision: number): Entry {
  return { key, value: new Uint8Array(10), createRevision: revision, modRevision: revision };
}

function stateText(entries: SortedMap<Entry> | undefined): string {
  if (entries === undefined) return "dropped";
  return entries
    .values()
    .map(({ key, modRevision }) => `${key}${modRevision}`)
    .join(" ");
}

/** Changes as `+a5` (created), `~a6` (changed) and `-a7` (deleted). */
function changesText(changes: readonly Change[]): string {
  return changes
    .map(({ key, revision, entry: now, previous }) => {
      const sign = now === undefined ? "-" : previous === undefined ? "+" : "~";
      return `${sign}${key}${revision}`;
    })
    .join(" ");
}

function changeCount(watchCache: WatchCache): number {
  return watchCache.statistics.changes;
}

const wide = { changes: 1000, bytes: 1e6 };

describe("watch cache", () => {
  it("returns the newest state, past states, and the changes between them", () => {
    const start = SortedMap.from([["a", entry("a", 3)]]);
    const watchCache = new WatchCache(
      { entries: start, bytes: 10, unreadable: 0, revision: 11 },
      wide,
    );
    watchCache.apply("b", 12, entry("b", 12));
    watchCache.apply("a", 15, entry("a", 15));
    watchCache.apply("b", 15, undefined);
    assert.equal(
      watchCache.apply("zz", 16, undefined),
      undefined,
      "a deleted key cannot be deleted again",
    );
    watchCache.apply("c", 17, entry("c", 17));
    assert.equal(stateText(watchCache.entries), "a15 c17");
    const { objects, bytes, changes, from } = watchCache.statistics;
    assert.deepEqual(
      { objects, bytes, changes, from },
      { objects: 2, bytes: 20, changes: 4, from: 11 },
    );
    const states = [11, 12, 14, 15, 16, 17, 99].map((revision) =>
      stateText(watchCache.at(revision)),
    );
    assert.deepEqual(states, ["a3", "a3 b12", "a3 b12", "a15", "a15", "a15 c17", "a15 c17"]);
    assert.equal(stateText(watchCache.at(10)), "dropped");
    assert.equal(changesText(watchCache.after(11)), "+b12 ~a15 -b15 +c17");
    assert.equal(changesText(watchCache.after(12)), "~a15 -b15 +c17");
    assert.equal(changesText(watchCache.after(11, 2)), "+b12 ~a15 -b15", "revisions stay whole");
    assert.equal(changesText(watchCache.after(17)), "");
  });

  it("equals a replay of all changes, at every revision that was not dropped", () => {
    const seed = Date.now() % 1_000_000_007;
    const random = seededRandom(seed);
    const watchCache = new WatchCache(WatchCache.stateOf([], 1), { changes: 700, bytes: 1e6 });
    let state = SortedMap.empty<Entry>();
    const states = new Map([[1, state]]);
    const all: Change[] = [];
    for (let revision = 2; revision < 3000; revision += 1 + random.below(3)) {
      for (let many = 1 + random.below(3); many > 0; many--) {
        const key = `k${random.below(40)}${"abc"[many - 1]}`;
        const value = random.below(3) === 0 ? undefined : entry(key, revision);
        const change = watchCache.apply(key, revision, value);
        if (change !== undefined) all.push(change);
        state = value === undefined ? state.delete(key) : state.set(key, value);
      }
      states.set(revision, state);
    }
    assert.ok(
      watchCache.from > 1 && changeCount(watchCache) <= 700 + 300,
      `${changeCount(watchCache)} are kept, ${seed}`,
    );
    for (const [revision, expected] of states) {
      const wanted = revision < watchCache.from ? "dropped" : stateText(expected);
      assert.equal(stateText(watchCache.at(revision)), wanted, `at ${revision}, seed ${seed}`);
      if (revision < watchCache.from) continue;
      const after = all.filter((change) => change.revision > revision);
      assert.deepEqual(watchCache.after(revision), after, `after ${revision}, seed ${seed}`);
    }
  });

  it("drops changes above the limit in bytes", () => {
    const watchCache = new WatchCache(WatchCache.stateOf([], 1), { changes: 1e6, bytes: 20_000 });
    for (let revision = 2; revision < 2000; revision++) {
      watchCache.apply("a", revision, entry("a", revision));
    }
    assert.ok(changeCount(watchCache) < 500, `${changeCount(watchCache)} are kept`);
    assert.equal(stateText(watchCache.entries), "a1999");
  });
});
