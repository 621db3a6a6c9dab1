import assert from "node:assert/strict";
import { exponentOf, GrowthTable, kneeOf, type Point } from "./slope.ts";

const law = (exponent: number) =>
  [10, 30, 100].map((size) => [size, 7 * size ** exponent] as const);

describe("slope", () => {
  for (const exponent of [-1, 0, 0.5, 1, 2]) {
    it(`finds the exponent ${exponent} of a power law`, () => {
      assert.ok(Math.abs(exponentOf(law(exponent)) - exponent) < 1e-9);
    });
  }

  it("names the size from which a cost grows faster than linearly", () => {
    const points: Point[] = [
      { size: 10, costs: { level: 5, steep: 1 } },
      { size: 100, costs: { level: 6, steep: 10 } },
      { size: 1000, costs: { level: 5, steep: 1000 } },
    ];
    assert.equal(kneeOf(points, "level"), undefined);
    assert.equal(kneeOf(points, "steep"), 100);
  });

  it("prints rows, exponents and knees", () => {
    const lines: string[] = [];
    const table = new GrowthTable("pods", (line) => lines.push(line));
    for (const [size, cost] of law(2)) table.add({ size, costs: { "LIST ms": cost } });
    table.end();
    assert.deepEqual(
      lines.map((line) => line.trim().split(/ {2,}/)),
      [
        ["pods", "LIST ms"],
        ["10", "700"],
        ["30", "6300"],
        ["100", "70000"],
        ["exponent", "2.00"],
        ["knee", "10"],
      ],
    );
  });
});
