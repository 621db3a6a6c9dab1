import assert from "node:assert/strict";
import type { LeaseCandidate } from "#client";
import { electionStrategy, oldestEmulation, pickBestLeader } from "./election-strategy.ts";

/** `name binary emulation [strategy]`, made one second after another. */
function candidates(...lines: readonly string[]): readonly LeaseCandidate[] {
  return lines.map((line, second) => {
    const [name = "", binaryVersion = "", emulationVersion = "", strategy] = line.split(" ");
    const creationTimestamp = `2030-01-01T00:00:0${second}Z`;
    const spec = { leaseName: "l", binaryVersion, emulationVersion, strategy };
    const metadata = { name, uid: name, resourceVersion: "1", creationTimestamp };
    return { metadata, spec: { ...spec, strategy: strategy ?? oldestEmulation } };
  });
}

describe("election strategy", () => {
  const table: readonly (readonly [string, string, ...string[]])[] = [
    ["the oldest emulation version", "b", "a 1.34.0 1.34.0", "b 1.34.0 1.33.0"],
    ["of these the oldest binary", "b", "a 1.35.0 1.33.0", "b 1.34.0 1.33.0"],
    ["of these the first to come", "a", "a 1.34.0 1.34.0", "b 1.34.0 1.34.0"],
    ["by number, not by text", "b", "a 1.10.0 1.10.0", "b 1.9.0 1.9.0"],
  ];
  for (const [what, best, ...lines] of table) {
    it(`picks ${what}`, () => {
      assert.equal(pickBestLeader(candidates(...lines))?.metadata.name, best);
    });
  }

  it("returns undefined without candidates", () => assert.equal(pickBestLeader([]), undefined));

  it("is that of the newest binaries if they agree", () => {
    const agree = candidates("a 1.33.0 1.33.0 Other", "b 1.34.0 1.33.0");
    assert.equal(electionStrategy(agree), oldestEmulation);
    const differ = candidates("a 1.34.0 1.33.0 Other", "b 1.34.0 1.33.0");
    assert.equal(electionStrategy(differ), undefined);
  });
});
