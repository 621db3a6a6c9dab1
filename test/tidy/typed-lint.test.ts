import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
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

/** The build prints declarations of all programs, and takes 10 s: `npm test` runs it before the tests. */
describe("the build", () => {
  it("checks that values with an int64 are not printed by JSON.stringify", () => {
    const { files } = JSON.parse(readFileSync(path.join(root, "tsconfig.build.json"), "utf8")) as {
      readonly files: readonly string[];
    };
    assert.ok(files.includes("scripts/json-stringify.d.ts"));
  });
});
