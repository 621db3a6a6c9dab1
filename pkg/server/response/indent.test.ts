import assert from "node:assert/strict";
import { Indenter, indented } from "./indent.ts";

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

  it("indents long texts in pieces that do not cut characters", async () => {
    for (const start of ["", "x"]) {
      const long = { a: start + "\u{1f680}".repeat(100_000), b: [1] };
      const pieces = await indented(JSON.stringify(long));
      assert.ok(pieces.length > 2);
      const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
      assert.equal(bytes.toString(), JSON.stringify(long, undefined, 2));
    }
  });

  it("does not change numbers", () => {
    assert.equal(new Indenter().feed('{"n":9007199254740993}'), '{\n  "n": 9007199254740993\n}');
  });
});
