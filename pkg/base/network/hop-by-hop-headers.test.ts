import assert from "node:assert/strict";
import { connectionOptions } from "./hop-by-hop-headers.ts";

describe("the options of a Connection header", () => {
  for (const [title, value, expected] of [
    ["are case-insensitive", "close, X-Trace", ["close", "x-trace"]],
    ["may come in several fields", ["Keep-Alive", "a ,b"], ["keep-alive", "a", "b"]],
  ] as const) {
    it(title, () => assert.deepEqual([...connectionOptions(value)], expected));
  }

  it("list no header if it is absent", () => {
    assert.ok(!connectionOptions(undefined).has("x-trace"));
  });
});
