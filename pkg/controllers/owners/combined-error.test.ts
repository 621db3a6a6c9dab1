import assert from "node:assert/strict";
import { combinedError } from "./combined-error.ts";

describe("combinedError", () => {
  const shown = (...messages: readonly string[]) =>
    (combinedError(messages.map((each) => new Error(each))) as Error).message;

  it("returns the error itself if there is only one", () => {
    const error = new Error("a");
    assert.equal(combinedError([error]), error);
  });

  it("lists each message once", () => {
    assert.equal(shown("a", "b", "a"), "[a, b]");
    assert.equal(shown("a", "a"), "a");
  });
});
