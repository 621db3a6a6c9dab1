/** The checks of the model detect violations. */
import assert from "node:assert/strict";
import { checkHistory, checkWatcher } from "./check.ts";
import type { Change, Operation, Told } from "./history.ts";

const changes: readonly Change[] = [
  { revision: 5, key: "a", value: "one" },
  { revision: 6, key: "b", value: "two" },
  { revision: 8, key: "a", value: "three" },
  { revision: 9, key: "b", value: undefined },
];
const write = (
  [start, end]: readonly [number, number],
  key: string,
  more: Partial<Operation & { kind: "write" }>,
): Operation => ({
  kind: "write",
  start,
  end,
  key,
  value: undefined,
  expected: undefined,
  outcome: "done",
  ...more,
});
const writes: readonly Operation[] = [
  write([0, 1], "a", { value: "one", expected: 0, revision: 5 }),
  write([1, 3], "b", { value: "two", revision: 6 }),
  write([4, 6], "a", { value: "three", expected: 5, revision: 8 }),
  write([7, 9], "b", { expected: 6 }),
];
const version = (revision: number, value: string) => ({ revision, value });
const read = (start: number, end: number, found?: readonly [number, string]): Operation => ({
  kind: "read",
  key: "a",
  start,
  end,
  found: found && version(...found),
});
const list = (start: number, end: number, revision: number, found: object): Operation => ({
  kind: "list",
  start,
  end,
  revision,
  found: new Map(Object.entries(found)),
});
const both = { a: version(5, "one"), b: version(6, "two") };

describe("the check of histories", () => {
  const good: readonly (readonly [string, readonly Operation[]])[] = [
    ["the writes alone", []],
    ["reads of what was there", [read(2, 3, [5, "one"]), read(7, 8, [8, "three"])]],
    ["a read before a write is there", [read(4, 6, [5, "one"])]],
    ["a read after a write is there", [read(4, 6, [8, "three"])]],
    ["a list", [list(3.5, 3.6, 6, both)]],
    ["a write of unknown outcome", [write([2, 3], "a", { value: "x", outcome: "unknown" })]],
    ["a refused write", [write([2, 3], "a", { value: "x", outcome: "refused" })]],
  ];
  for (const [what, operations] of good) {
    it(`accepts ${what}`, () => {
      assert.deepEqual(checkHistory([...writes, ...operations], changes), []);
    });
  }

  const bad: readonly (readonly [string, readonly Operation[], RegExp])[] = [
    ["a lost write", [write([2, 3], "a", { value: "x", revision: 7 })], /acknowledged .* is lost/],
    ["a stale read", [read(7, 8, [5, "one"])], /which 8 had replaced already/],
    ["a step back", [read(4.1, 4.2, [8, "three"]), read(4.3, 4.4, [5, "one"])], /replaced/],
    ["a read of nothing", [read(2, 3)], /shows nothing/],
    ["a read of the future", [read(2, 3, [8, "three"])], /before revision 8 was asked for/],
    ["a stale list", [list(7, 7.5, 6, both)], /older than 8/],
    ["a wrong list", [list(3.5, 3.6, 6, { a: both.a })], /wrong/],
    ["a lost deletion", [write([2, 3], "a", { expected: 5 })], /lost/],
  ];
  for (const [what, operations, words] of bad) {
    it(`finds ${what}`, () => {
      assert.match(checkHistory([...writes, ...operations], changes).join(), words);
    });
  }

  it("finds writes without a request, repeated writes, and writes against their precondition", () => {
    const more = (change: Change) => checkHistory(writes, [...changes, change]).join();
    assert.match(more({ revision: 10, key: "a", value: "x" }), /requested by no client/);
    assert.match(more({ revision: 10, key: "b", value: "two" }), /happened twice/);
    const wrong = write([4, 6], "a", { value: "three", expected: 4, revision: 8 });
    const swapped = [...writes.slice(0, 2), wrong, writes[3]!];
    assert.match(checkHistory(swapped, changes).join(), /replaced 5 instead of 4/);
  });
});

describe("the check of watches", () => {
  const all: readonly Told[] = [
    { type: "LISTED", revision: 4, found: new Map() },
    { type: "ADDED", key: "a", version: version(5, "one") },
    { type: "ADDED", key: "b", version: version(6, "two") },
    { type: "BOOKMARK", revision: 7 },
    { type: "MODIFIED", key: "a", version: version(8, "three") },
    { type: "DELETED", key: "b", version: version(9, "two") },
  ];
  const check = (told: readonly Told[]) => checkWatcher(told, changes, () => true).join();

  it("accepts complete histories after any list", () => {
    assert.equal(check(all), "");
    const later: Told = { type: "LISTED", revision: 7, found: new Map(Object.entries(both)) };
    assert.equal(check([later, ...all.slice(4)]), "");
    assert.equal(check([all[0]!, all[1]!, later, ...all.slice(4)]), "");
    assert.deepEqual(
      checkWatcher([all[0]!, all[2]!, all[5]!], changes, (key) => key === "b"),
      [],
    );
  });

  const without = (index: number) => all.filter((_, at) => at !== index);
  const swapped = [all[0]!, all[2]!, all[1]!, ...all.slice(3)];
  const early = [...all.slice(0, 2), all[3]!, ...all.slice(2)];
  const mistyped = [...all.slice(0, 4), { ...all[4]!, type: "ADDED" } as Told, all[5]!];
  const bad: readonly (readonly [string, readonly Told[], RegExp])[] = [
    ["a gap", without(1), /6 came instead of 5/],
    ["an event told twice", [...all.slice(0, 3), all[2]!, ...all.slice(3)], /6 came instead of 8/],
    ["another order", swapped, /6 came instead of 5/],
    ["a bookmark before its events", early, /bookmark 7/],
    ["an end that is missing", without(5), /1 events after 8 were not told/],
    ["a wrong type", mistyped, /as ADDED/],
    ["a list of the past", [...all, all[0]!], /step back/],
  ];
  for (const [what, told, words] of bad) {
    it(`finds ${what}`, () => assert.match(check(told), words));
  }
});
