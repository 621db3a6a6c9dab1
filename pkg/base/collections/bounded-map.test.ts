import assert from "node:assert/strict";
import { setBounded } from "./bounded-map.ts";

describe("setBounded", () => {
  it("deletes the entry that was set longest ago", () => {
    const map = new Map<string, number>();
    for (const key of ["a", "b", "a", "c"]) setBounded(map, [key, map.size], 2);
    assert.deepEqual([...map.keys()], ["a", "c"]);
  });
});
