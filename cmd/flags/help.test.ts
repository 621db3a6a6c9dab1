import assert from "node:assert/strict";
import { durationText, type FlagGroup, helpText } from "./help.ts";
import { flag } from "./parse.ts";

const groups: readonly FlagGroup[] = [
  {
    heading: "Generic",
    flags: {
      v: flag("int", 0, "log verbosity"),
      "event-ttl": flag("duration", 3_600_000, "time for which events are retained"),
      "enable-a-feature-with-a-long-name-indeed": flag("bool", true, "feature"),
    },
  },
  { heading: "Etcd", flags: { "etcd-servers": flag("list", ["a", "b"], "endpoints") } },
];

describe("help", () => {
  const text = helpText({ description: "Serves.", usage: "keelson x [flags]", groups }, 80);

  it("shows description, usage, and groups under headings with flags by name", () => {
    const parts = ["Serves.", "Usage:\n  keelson x [flags]", "Generic flags:", "Etcd flags:"];
    let from = 0;
    for (const part of parts) {
      assert.ok(text.indexOf(part, from) >= from, part);
      from = text.indexOf(part, from);
    }
    const names = [...text.matchAll(/^ +(?:-\w, )?--([\w-]+)/gm)].map(([, name]) => name);
    const generic = ["enable-a-feature-with-a-long-name-indeed", "event-ttl", "v"];
    assert.deepEqual(names, [...generic, "etcd-servers", "help"]);
  });

  it("shows type and default as pflag does", () => {
    assert.match(text, /^ {6}--event-ttl duration {2,}time for which/m);
    assert.match(text, /retained\s+\(default 1h0m0s\)/);
    assert.match(text, /--etcd-servers strings {2,}endpoints \(default \[a,b\]\)/);
    assert.match(text, /^ {2}-v, --v int {2,}log verbosity$/m);
    assert.match(text, /indeed\n {2,}feature \(default true\)/);
  });

  it("wraps at the width", () => {
    assert.ok(text.split("\n").every((line) => line.length <= 84));
  });

  const durations: readonly (readonly [number, string])[] = [
    [0, "0s"],
    [250, "250ms"],
    [1500, "1.5s"],
    [90_000, "1m30s"],
    [3_600_000, "1h0m0s"],
    [365 * 86_400_000, "8760h0m0s"],
  ];
  for (const [ms, shown] of durations) {
    it(`shows ${ms} ms as ${shown}`, () => assert.equal(durationText(ms), shown));
  }
});
