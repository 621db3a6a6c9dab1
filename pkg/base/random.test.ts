import assert from "node:assert/strict";
import { cryptoRandom, randomText, seededRandom, shuffle } from "./random.ts";

describe("random", () => {
  it("is reproducible by its seed", () => {
    const draw = (seed: number | string) => {
      const random = seededRandom(seed);
      const text = randomText(random, 8, "abc");
      return [random.below(1000), random.uuid(), text, [...random.bytes(5)]];
    };
    assert.deepEqual(draw(42), draw(42));
    assert.deepEqual(draw("a"), draw("a"));
    assert.notDeepEqual(draw(42), draw(43));
  });

  for (const [name, random] of [
    ["seeded", seededRandom(1)],
    ["crypto", cryptoRandom],
  ] as const) {
    it(`${name}: reaches every value below the bound, and nothing else`, () => {
      const counts = new Array<number>(10).fill(0);
      for (let i = 0; i < 10_000; i++) counts[random.below(10)]! += 1;
      assert.equal(counts.length, 10);
      for (const count of counts) assert.ok(count > 800 && count < 1200, String(counts));
    });

    it(`${name}: makes version 4 UUIDs and bytes`, () => {
      const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
      assert.match(random.uuid(), version4);
      assert.equal(random.bytes(33).length, 33);
    });
  }

  it("crypto: makes UUIDs of which no two are equal", () => {
    const uuids = Array.from({ length: 1_000 }, () => cryptoRandom.uuid());
    assert.equal(new Set(uuids).size, uuids.length);
  });

  it("shuffles without losing elements, and picks elements", () => {
    const random = seededRandom(5);
    const items = Array.from({ length: 50 }, (_, i) => i);
    const mixed = shuffle(random, items);
    assert.notDeepEqual(mixed, items);
    assert.deepEqual(
      mixed.toSorted((a, b) => a - b),
      items,
    );
    assert.ok(items.includes(random.pick(items)));
  });
});
