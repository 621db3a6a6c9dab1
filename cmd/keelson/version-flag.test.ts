import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../test/tidy/source.ts";
import { UsageError } from "../flags/parse.ts";
import { takeVersion } from "./version-flag.ts";

describe("--version", () => {
  it("prints the version, or all details for raw", () => {
    assert.match(takeVersion(["--version"]).version ?? "", /^keelson v1\.\d+\.\d+/);
    const details = JSON.parse(takeVersion(["--version=raw"]).version ?? "") as object;
    assert.ok("gitVersion" in details && "platform" in details);
  });

  it("contains Keelson's version, equal to that of the package", () => {
    const file = path.join(root, "package.json");
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    assert.ok(takeVersion(["--version"]).version?.endsWith(` (Keelson ${version})`));
  });

  it("is removed from the command line if there is nothing to print", () => {
    for (const word of ["--version=", "--version=false", "--version=v1.34.9-eks.1"]) {
      assert.deepEqual(takeVersion(["--v=2", word]), { words: ["--v=2"] });
    }
  });

  it("rejects another release", () => {
    for (const value of ["v1.33.0", "1.34.0", "v1.34", "yes"]) {
      assert.throws(() => takeVersion([`--version=${value}`]), UsageError, value);
    }
  });
});
