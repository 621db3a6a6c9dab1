import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inProcess } from "../load/testing.ts";
import { runScenario, scenarios } from "./index.ts";

describe("bench:scale", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-scale-"));

  after(() => rmSync(folder, { recursive: true }));

  for (const [name, scenario] of Object.entries(scenarios)) {
    it(`${name}: prints costs of every size, and exponents`, async () => {
      const lines: string[] = [];
      const points = await runScenario(scenario, {
        launcher: inProcess,
        folder,
        isSmall: true,
        print: (line) => lines.push(line),
      });
      assert.deepEqual(
        points.map(({ size }) => size),
        scenario.smallSizes,
      );
      for (const { costs } of points) {
        for (const [column, cost] of Object.entries(costs))
          assert.ok(cost > 0, `${column}: ${cost}`);
      }
      assert.match(lines.at(-2) ?? "", /exponent( +-?\d+\.\d\d)+$/);
    });
  }
});
