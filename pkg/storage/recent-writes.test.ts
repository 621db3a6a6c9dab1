import assert from "node:assert/strict";
import type { Entry } from "./backend.ts";
import { RecentWrites } from "./recent-writes.ts";

function entry(key: string, modRevision: number, bytes = 700): Entry {
  return { key, value: Buffer.alloc(bytes), createRevision: 0, modRevision };
}

describe("recent writes", () => {
  const known = (recent: RecentWrites, ...keys: string[]) =>
    keys.map((key) => recent.get(key)?.modRevision);

  it("keep the newest version of a key", () => {
    const recent = new RecentWrites(10_000);
    recent.add(entry("/a", 5));
    recent.add(entry("/a", 7));
    recent.add(entry("/a", 6));
    assert.deepEqual(known(recent, "/a", "/b"), [7, undefined]);
    recent.delete("/a");
    assert.deepEqual(known(recent, "/a"), [undefined]);
  });

  it("evict the version that was written longest ago", () => {
    const recent = new RecentWrites(3_000);
    for (const [index, key] of ["/a", "/b", "/c"].entries()) recent.add(entry(key, index + 1));
    recent.add(entry("/a", 4));
    recent.add(entry("/d", 5));
    assert.deepEqual(known(recent, "/a", "/b", "/c", "/d"), [4, undefined, 3, 5]);
  });

  it("return the version that the store reports once, and keep newer ones", () => {
    const recent = new RecentWrites(10_000);
    const written = entry("/a", 7);
    recent.add(written);
    assert.equal(recent.take("/a", { ...entry("/a", 6), createRevision: 2 }), undefined);
    assert.equal(recent.take("/a", { ...entry("/a", 7), createRevision: 2 }), written);
    assert.equal(written.createRevision, 2);
    assert.equal(recent.take("/a", entry("/a", 7)), undefined);
  });

  it("drop a version that another writer replaced, or that the store reports as encrypted", () => {
    const recent = new RecentWrites(10_000);
    recent.add(entry("/a", 7));
    assert.equal(recent.take("/a", entry("/a", 8)), undefined);
    recent.add(entry("/b", 7));
    const encryption = { stale: true };
    assert.equal(recent.take("/b", { ...entry("/b", 7), encryption }), undefined);
    assert.deepEqual(known(recent, "/a", "/b"), [undefined, undefined]);
  });

  it("do not keep a version that is larger than the limit", () => {
    const recent = new RecentWrites(3_000);
    recent.add(entry("/a", 1));
    recent.add(entry("/b", 2, 5_000));
    assert.deepEqual(known(recent, "/a", "/b"), [undefined, undefined]);
    recent.add(entry("/c", 3));
    assert.deepEqual(known(recent, "/c"), [3]);
  });
});
