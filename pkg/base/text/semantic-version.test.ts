import assert from "node:assert/strict";
import { compareSemver, parseSemver } from "./semantic-version.ts";

describe("semantic-version", () => {
  it("parses the parts of a version", () => {
    assert.deepEqual(parseSemver("1.35.0-alpha.1+build.007"), {
      numbers: [1n, 35n, 0n],
      prerelease: ["alpha", "1"],
    });
    assert.ok(parseSemver("0.0.18446744073709551615"));
    assert.ok(parseSemver("1.0.0--"));
  });

  it("rejects anything else", () => {
    const texts =
      "1 1.2 1.2.3.4 v1.2.3 01.2.3 1.02.3 1.2.03 1.2.3- 1.2.3+ 1.2.3-a..b 1.2.3-01 1.2.3-a_b " +
      "1.2.-3";
    for (const text of texts.split(" ")) assert.equal(parseSemver(text), undefined, text);
  });

  it("orders versions", () => {
    const ordered =
      "0.9.10 1.0.0-1 1.0.0-2 1.0.0-10 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta " +
      "1.0.0-rc.1 1.0.0 1.0.1 1.2.0 1.10.0 2.0.0";
    const versions = ordered.split(" ").map((text) => parseSemver(text)!);
    for (const [i, left] of versions.entries()) {
      for (const [j, right] of versions.entries()) {
        assert.equal(Math.sign(compareSemver(left, right)), Math.sign(i - j), `${i} ${j}`);
      }
    }
    assert.equal(compareSemver(parseSemver("1.0.0+a")!, parseSemver("1.0.0+b")!), 0);
  });
});
