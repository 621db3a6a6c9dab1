/** The list of feature gates that have an effect is that of the source. */
import assert from "node:assert/strict";
import { consultedGates, featureStages } from "../../pkg/api/feature-gates.ts";
import { sourceFiles } from "./source.ts";

describe("the list of consulted feature gates", () => {
  it("has the gates whose names are in the source", () => {
    const names = featureStages();
    const found = sourceFiles()
      .filter(({ path: file, isTest }) => !isTest && file !== "pkg/api/feature-gates.ts")
      .flatMap(({ text }) => [...text.matchAll(/"([A-Z][A-Za-z0-9,]+)"/g)])
      .flatMap(([, listed = ""]) => listed.split(","))
      // An admission plugin is called PodSecurity as well.
      .filter((name) => names.has(name) && name !== "PodSecurity");
    assert.deepEqual([...new Set(found)].sort(), [...consultedGates()].sort());
  });
});
