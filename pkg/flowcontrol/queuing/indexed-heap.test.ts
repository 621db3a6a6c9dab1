import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { IndexedHeap } from "./indexed-heap.ts";

interface Element {
  key: number;
  heapIndex: number;
}

describe("indexed heap", () => {
  it("yields its elements in order after random updates and removals", () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = seededRandom(seed);
      const heap = new IndexedHeap<Element>((a, b) => a.key < b.key);
      const elements = Array.from({ length: 40 }, () => ({ key: 0, heapIndex: -1 }));
      const inside = new Set<Element>();
      for (let step = 0; step < 400; step++) {
        const element = random.pick(elements);
        if (random.below(3) === 0) {
          heap.remove(element);
          inside.delete(element);
        } else {
          element.key = random.below(100);
          heap.place(element);
          inside.add(element);
        }
        const least = Math.min(...[...inside].map(({ key }) => key));
        assert.equal(heap.first()?.key ?? Infinity, least, `seed ${seed}, step ${step}`);
      }
      assert.deepEqual(new Set(heap.values()), inside);
    }
  });
});
