import assert from "node:assert/strict";
import { atOnce, type Random, seededRandom } from "#base";
import { difference, type FieldSet, inOrder, intersection, isSubset, setOf, union } from "./set.ts";
import { parseFieldSet } from "./parse-field-set.ts";
import {
  differenceInSlices,
  inOrderInSlices,
  intersectionInSlices,
  isSameSetInSlices,
  isSubsetInSlices,
  unionInSlices,
} from "./set-in-slices.ts";

const elements = ["f:a", "f:b", 'k:{"port":1,"protocol":"TCP"}', 'k:{"port":10}', "v:2", "i:3"];

/** Up to twelve paths of up to four elements, so that random sets intersect. */
function arbitrarySet(random: Random): FieldSet {
  const path = (): string[] =>
    Array.from({ length: 1 + random.below(4) }, () => random.pick(elements));
  const set = setOf(...Array.from({ length: random.below(12) }, path));
  // Decoded sets have leaves of their own.
  return random.below(2) === 0 ? set : (JSON.parse(JSON.stringify(set)) as FieldSet);
}

describe("field sets in slices", () => {
  const operations = [
    ["union", union, unionInSlices],
    ["difference", difference, differenceInSlices],
    ["intersection", intersection, intersectionInSlices],
  ] as const;
  for (const [name, plain, sliced] of operations) {
    it(`has the same ${name} at any number of levels`, () => {
      const random = seededRandom(name);
      for (let round = 0; round < 1000; round++) {
        const [left, right] = [arbitrarySet(random), arbitrarySet(random)];
        const levels = random.below(4);
        const result = atOnce(sliced(left, right, levels));
        assert.deepEqual(inOrder(result), inOrder(plain(left, right)), `${round}`);
      }
    });
  }

  it("returns the left operand if it is the result", () => {
    const left = setOf(["f:a", "f:b"], ["f:a", "f:c"], ["f:d"]);
    const part = setOf(["f:a", "f:b"]);
    assert.equal(atOnce(unionInSlices(left, part, 2)), left);
    assert.equal(atOnce(differenceInSlices(left, setOf(["f:x"]), 2)), left);
  });

  it("finds subsets and equal sets", () => {
    const random = seededRandom("subsets");
    for (let round = 0; round < 1000; round++) {
      const [left, right] = [arbitrarySet(random), arbitrarySet(random)];
      const levels = random.below(4);
      const both = union(left, right);
      assert.equal(atOnce(isSubsetInSlices(left, both, levels)), true, `${round}`);
      assert.equal(atOnce(isSubsetInSlices(left, right, levels)), isSubset(left, right));
      const isSame = isSubset(left, right) && isSubset(right, left);
      assert.equal(atOnce(isSameSetInSlices(left, right, levels)), isSame);
      assert.equal(atOnce(isSameSetInSlices(left, structuredClone(left), levels)), true);
    }
  });

  it("has the same order, which decoding accepts", () => {
    const random = seededRandom("order");
    for (let round = 0; round < 1000; round++) {
      const set = arbitrarySet(random);
      const levels = random.below(4);
      const ordered = atOnce(inOrderInSlices(set, levels));
      assert.equal(JSON.stringify(ordered), JSON.stringify(inOrder(set)), `${round}`);
      const encoded: unknown = JSON.parse(JSON.stringify(ordered));
      assert.equal(atOnce(parseFieldSet(encoded, levels)), encoded);
      const reversed = Object.fromEntries(Object.entries(ordered).reverse());
      const decoded = atOnce(parseFieldSet(reversed, levels));
      assert.equal(JSON.stringify(decoded), JSON.stringify(ordered));
    }
  });

  it("yields in large nodes", () => {
    const wide = (from: number): FieldSet => {
      const names = Array.from({ length: 5000 }, (_, i) => [`f:k${from + i}`, {}]);
      return { "f:spec": { "f:open": Object.fromEntries(names) as FieldSet } };
    };
    const count = (slices: Iterable<void>): number => [...slices].length;
    const [left, right] = [wide(0), wide(2500)];
    for (const [, , sliced] of operations) assert.ok(count(sliced(left, right, 3)) >= 5);
    assert.ok(count(isSameSetInSlices(left, wide(0), 3)) >= 10);
    assert.ok(count(inOrderInSlices(left, 3)) >= 5);
    assert.ok(count(parseFieldSet(right, 3)) >= 5);
  });
});
