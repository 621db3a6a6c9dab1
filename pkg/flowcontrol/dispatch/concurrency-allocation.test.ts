import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { allocateSeats, type AllocationClass } from "./concurrency-allocation.ts";

describe("concurrency allocation", () => {
  it("divides in proportion to targets within the bounds, for random classes", () => {
    const random = seededRandom(51);
    for (let round = 0; round < 3_000; round++) {
      const classes: AllocationClass[] = Array.from({ length: 1 + random.below(8) }, () => {
        const lower = random.below(20);
        return {
          lower,
          target: lower + (random.below(2) === 0 ? 0 : random.below(50)),
          upper: lower + random.below(80),
        };
      });
      const sumOf = (value: (each: AllocationClass) => number) =>
        classes.reduce((sum, each) => sum + value(each), 0);
      const lowest = sumOf(({ lower }) => lower);
      const sum = lowest + random.below(sumOf(({ upper }) => upper) - lowest + 1);
      const found = allocateSeats(sum, classes);
      assert.ok(found !== undefined);
      const { seats, fairFraction } = found;
      const total = seats.reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(total - sum) < 1e-6, `${total} of ${sum}`);
      for (const [index, { lower, upper, target }] of classes.entries()) {
        const fair = fairFraction * Math.max(target, 0.001);
        const expected = Math.max(lower, Math.min(upper, fair));
        const own = seats[index] as number;
        // Where all are at one bound, the fraction is only a bound itself.
        if (sum > lowest && sum < sumOf((each) => each.upper)) {
          assert.ok(Math.abs(own - expected) < 1e-6, `${own}, not ${expected}`);
        } else assert.ok(own === lower || own === upper);
      }
    }
  });

  it("divides examples computed by hand", () => {
    const classes = [
      { lower: 5, target: 10, upper: 100 },
      { lower: 30, target: 30, upper: 100 },
      { lower: 0, target: 20, upper: 25 },
    ];
    assert.deepEqual(allocateSeats(60, classes), { seats: [10, 30, 20], fairFraction: 1 });
    assert.deepEqual(allocateSeats(45, classes), { seats: [5, 30, 10], fairFraction: 0.5 });
    assert.deepEqual(allocateSeats(105, classes), { seats: [20, 60, 25], fairFraction: 2 });
  });

  it("returns undefined for sums outside the bounds", () => {
    const classes = [{ lower: 5, target: 10, upper: 20 }];
    assert.equal(allocateSeats(4, classes), undefined);
    assert.equal(allocateSeats(21, classes), undefined);
    assert.equal(allocateSeats(10, [{ lower: 5, target: 4, upper: 20 }]), undefined);
  });
});
