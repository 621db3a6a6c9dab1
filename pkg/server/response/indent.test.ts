import assert from "node:assert/strict";
import { Indenter } from "./indent.ts";

describe("indenter", () => {
  const value = { a: [1, {}, [], { b: 'x",\\{[' }], c: null, d: { e: true } };

  it("indents like JSON.stringify, at every boundary of chunks", () => {
    const text = JSON.stringify(value);
    const expected = JSON.stringify(value, undefined, 2);
    for (let cut = 0; cut <= text.length; cut++) {
      const indenter = new Indenter();
      assert.equal(indenter.feed(text.slice(0, cut)) + indenter.feed(text.slice(cut)), expected);
    }
  });

  it("does not change numbers", () => {
    assert.equal(new Indenter().feed('{"n":9007199254740993}'), '{\n  "n": 9007199254740993\n}');
  });
});
