import assert from "node:assert/strict";
import { compareUtf8 } from "../text/bytes.ts";
import { randomText, seededRandom, type Random } from "../random.ts";
import { SortedMap } from "./sorted-map.ts";

const seed = Date.now();

describe(`sorted map (seed ${seed})`, () => {
  it("behaves as in its example", () => {
    const m = SortedMap.from([
      ["a", 1],
      ["b", 2],
    ]);
    const n = m.set("c", 3).delete("a");
    assert.deepEqual(
      [...m],
      [
        ["a", 1],
        ["b", 2],
      ],
    );
    assert.deepEqual(
      [...n],
      [
        ["b", 2],
        ["c", 3],
      ],
    );
  });

  it("shares the arrays of unchanged parts", () => {
    const map = SortedMap.from(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i] as const));
    const total = map.runs().length;
    assert.equal(leavesShared(map, map), total);
    assert.equal(leavesShared(map, map.set("k500", -1)), total - 1);
    assert.equal(leavesShared(map, map.delete("k500")), total - 1);
    const [first, ...others] = map.runs("k1", undefined, 500);
    assert.equal([first!, ...others].flat().length, 500);
    assert.ok(map.runs().filter((run) => others.includes(run)).length >= others.length - 1);
  });

  it("agrees with a plain map through random changes, and leaves old maps unchanged", () => {
    const random = seededRandom(seed);
    for (const keys of [20, 300, 5000]) {
      let map = SortedMap.empty<number>();
      const model = new Map<string, number>();
      const kept: [SortedMap<number>, [string, number][]][] = [];
      for (let step = 0; step < 6000; step++) {
        const key = `/k/${random.below(keys)}`;
        // Phases of growth and of shrinking, so that splits and joins both happen often.
        if (random.below(10) < (Math.floor(step / 1500) % 2 === 0 ? 8 : 2)) {
          map = map.set(key, step);
          model.set(key, step);
        } else {
          map = map.delete(key);
          model.delete(key);
        }
        if (step % 997 === 0) {
          map.check();
          kept.push([map, sorted(model)]);
        }
      }
      for (const [old, entries] of kept) assert.deepEqual([...old], entries);
      map.check();
      assertSame(map, sorted(model), random);
      for (const [key] of map) map = map.delete(key);
      assert.equal(map.size, 0);
      map.check();
    }
  });

  it("orders keys by their UTF-8 bytes", () => {
    const random = seededRandom(seed + 1);
    const alphabet = ["a", "/", "\u00e9", "\ud7ff", "\ue000", "\uff01", "\u{1f600}", "\u{10ffff}"];
    const keys = Array.from({ length: 2000 }, () =>
      Array.from({ length: random.below(5) }, () => random.pick(alphabet)).join(""),
    );
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const expected = [...new Set(keys)].sort(byBytes);
    let grown = SortedMap.empty<string>();
    for (const key of keys) grown = grown.set(key, key);
    const built = SortedMap.from(keys.map((key) => [key, key] as const));
    assert.deepEqual(
      [...grown].map(([key]) => key),
      expected,
    );
    assert.deepEqual(built.values(), expected);
    built.check();
    for (let i = 1; i < expected.length; i++) {
      assert.ok(compareUtf8(expected[i - 1]!, expected[i]!) < 0);
      assert.ok(compareUtf8(expected[i]!, expected[i - 1]!) > 0);
      assert.equal(grown.rank(expected[i]!), i);
    }
  });

  it("returns the same map if there is nothing to delete", () => {
    const map = SortedMap.from([["a", 1]]);
    assert.equal(map.delete("b"), map);
  });

  it("holds 100,000 keys", () => {
    const random = seededRandom(7);
    const name = (): string => `/registry/${randomText(random, 12, "abcdef")}`;
    const keys = Array.from({ length: 100_000 }, name);
    let map = SortedMap.empty<number>();
    for (let i = 0; i < keys.length; i++) map = map.set(keys[i]!, i);
    assert.equal(map.size, new Set(keys).size);
  });
});

function sorted(model: Map<string, number>): [string, number][] {
  return [...model].sort(([a], [b]) => compareUtf8(a, b));
}

function leavesShared(one: SortedMap<number>, other: SortedMap<number>): number {
  const known = new Set(one.runs());
  return other.runs().filter((run) => known.has(run)).length;
}

function assertSame(map: SortedMap<number>, entries: [string, number][], random: Random): void {
  assert.deepEqual([...map], entries);
  assert.equal(map.size, entries.length);
  for (let round = 0; round < 200; round++) {
    const [from, to] = [`/k/${random.below(6000)}`, `/k/${random.below(6000)}`];
    const limit = random.below(30);
    const inside = entries.filter(([key]) => key >= from && key < to);
    assert.deepEqual([...map.entries(from, to)], inside);
    assert.equal(map.count(from, to), inside.length);
    const most = limit === 0 ? inside.length : limit;
    assert.deepEqual(
      map.values(from, to, limit),
      inside.slice(0, most).map(([, value]) => value),
    );
    const index = random.below(Math.max(1, entries.length));
    assert.deepEqual(map.at(index), entries[index]);
    assert.equal(
      map.has(from),
      entries.some(([key]) => key === from),
    );
    assert.equal(map.get(from), entries.find(([key]) => key === from)?.[1]);
  }
  assert.equal(map.at(entries.length), undefined);
}
