import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { root } from "./source.ts";

/** Four seconds of CPU, since it type-checks the project: apart from tidy.test.ts, which is run often. */
describe("the type-aware linter", function () {
  it("finds no floating promises", () => {
    const linter = path.join(root, "node_modules", ".bin", "oxlint");
    const words = [
      "--type-aware",
      "--config=.oxlintrc.typed.json",
      "--quiet",
      "pkg",
      "cmd",
      "test",
    ];
    const { status, stdout, stderr } = spawnSync(linter, words, { cwd: root, encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
  });
});
