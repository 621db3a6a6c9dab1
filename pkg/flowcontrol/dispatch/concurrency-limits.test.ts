import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { adjustLimits, type Borrower } from "./concurrency-limits.ts";

interface Given {
  readonly limits: readonly [nominal: number, lower: number, upper: number];
  readonly highWatermark: number;
  readonly smoothed?: number;
  readonly isExempt?: boolean;
}

function borrower({ limits, highWatermark, smoothed = 0, isExempt = false }: Given): Borrower {
  const [nominal, lower, upper] = limits;
  const demand = { highWatermark, average: smoothed, deviation: 0, smoothed };
  return { isExempt, limits: { nominal, lower, upper }, demand, currentLimit: nominal };
}

function limitsOf(sum: number, given: readonly Given[]): readonly number[] {
  return adjustLimits(sum, given.map(borrower)).adjustments.map((each) => each.currentLimit);
}

describe("concurrency limits", () => {
  it("lend unused seats to a level with demand", () => {
    const busy = { limits: [50, 25, 150], highWatermark: 80, smoothed: 80 } as const;
    const idle = { limits: [50, 25, 150], highWatermark: 0 } as const;
    assert.deepEqual(limitsOf(100, [busy, idle]), [75, 25]);
    assert.deepEqual(limitsOf(100, [busy, busy]), [50, 50]);
  });

  it("reserve each level's high watermark, up to its nominal limit", () => {
    const owner = { limits: [50, 10, 150], highWatermark: 45, smoothed: 20 } as const;
    const greedy = { limits: [50, 10, 150], highWatermark: 500, smoothed: 500 } as const;
    const [own, other] = limitsOf(100, [owner, greedy]);
    assert.deepEqual([own, other], [45, 55]);
  });

  it("give an exempt level its high watermark at the expense of the others", () => {
    const exempt = { limits: [10, 10, 110], highWatermark: 80, isExempt: true } as const;
    const busy = { limits: [50, 10, 150], highWatermark: 60, smoothed: 60 } as const;
    // 110 - 80 = 30 remain: beyond 2 * 10, a ninth (10 of 90) of what each used on top of that.
    assert.deepEqual(limitsOf(110, [exempt, busy, busy]), [80, 15, 15]);
    const all = { ...exempt, highWatermark: 200 } as const;
    assert.deepEqual(limitsOf(110, [all, busy, busy]), [200, 10, 10]);
  });

  it("stay within the bounds of each level for random demand", () => {
    const random = seededRandom(61);
    for (let round = 0; round < 2_000; round++) {
      const given: Given[] = Array.from({ length: 1 + random.below(7) }, () => {
        const nominal = random.below(100);
        const lower = nominal - random.below(nominal + 1);
        const limits = [nominal, lower, nominal + random.below(300)] as const;
        const highWatermark = random.below(200);
        return { limits, highWatermark, smoothed: random.below(200) };
      });
      const sum = given.reduce((total, { limits: [nominal] }) => total + nominal, 0);
      const adjusted = limitsOf(sum, given);
      for (const [index, { limits, highWatermark }] of given.entries()) {
        const [nominal, lower, upper] = limits;
        const own = adjusted[index] as number;
        assert.ok(own >= lower && own <= upper, `${own} of ${limits}`);
        assert.ok(own >= Math.min(nominal, highWatermark), `${own} of ${limits}, ${highWatermark}`);
      }
      const total = adjusted.reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(total - sum) <= given.length, `${total} of ${sum}`);
    }
  });
});
