import assert from "node:assert/strict";
import { remember } from "./remember.ts";

describe("remember", () => {
  it("forgets what was set longest ago", () => {
    const map = new Map<string, number>();
    for (const key of ["a", "b", "a", "c"]) remember(map, [key, map.size], 2);
    assert.deepEqual([...map.keys()], ["a", "c"]);
  });
});
