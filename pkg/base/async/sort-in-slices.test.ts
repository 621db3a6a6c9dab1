import assert from "node:assert/strict";
import { seededRandom } from "../random.ts";
import { atOnce } from "./slices.ts";
import { sortInSlices } from "./sort-in-slices.ts";

describe("sortInSlices", () => {
  const byKey = (left: readonly [number, number], right: readonly [number, number]): number =>
    left[0] - right[0];

  for (const count of [0, 1, 999, 1000, 1001, 5500]) {
    it(`sorts ${count} items and keeps the order of equal ones`, () => {
      const random = seededRandom(`sort ${count}`);
      const items = Array.from({ length: count }, (_, i) => [random.below(300), i] as const);
      const before = [...items];
      assert.deepEqual(atOnce(sortInSlices(items, byKey)), items.toSorted(byKey));
      assert.deepEqual(items, before, "the argument is not changed");
    });
  }

  it("yields at least once per thousand comparisons or so", () => {
    const items = Array.from({ length: 8000 }, (_, i) => 8000 - i);
    let comparisons = 0;
    let most = 0;
    const slices = sortInSlices(items, (left, right) => {
      comparisons++;
      return left - right;
    });
    for (let slice = slices.next(); slice.done !== true; slice = slices.next()) {
      most = Math.max(most, comparisons);
      comparisons = 0;
    }
    assert.ok(most > 0 && most < 12_000, `${most}`);
  });
});
