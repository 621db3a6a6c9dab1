import assert from "node:assert/strict";
import { DecodeFault } from "../fault/faults.ts";
import { WireReader } from "./wire-reader.ts";
import { delimitedSize, WireWriter, writeDelimited } from "./wire-writer.ts";

const reading = (...bytes: number[]): WireReader => {
  const reader = new WireReader(Buffer.from(bytes));
  assert.ok(reader.next());
  return reader;
};

describe("wire-reader", () => {
  it("decodes what WireWriter encodes", () => {
    const bytes = new WireWriter()
      .number(1, 2 ** 40)
      .message(2, (inner) => inner.string(1, "ü").bytes(2, Buffer.from([1, 2])))
      .double(3, 1.5)
      .bool(200, true)
      .finish();
    const reader = new WireReader(bytes);
    assert.ok(reader.next());
    assert.equal(reader.number(), 2 ** 40);
    assert.ok(reader.next());
    reader.message((inner) => {
      assert.ok(inner.next());
      assert.equal(inner.text(), "ü");
      assert.ok(inner.next());
      assert.deepEqual(inner.bytes(), Buffer.from([1, 2]));
      assert.equal(inner.next(), false);
    });
    assert.ok(reader.next());
    assert.equal(reader.field, 3);
    reader.skip();
    assert.ok(reader.next());
    assert.equal(reader.field, 200);
    assert.equal(reader.number(), 1);
    assert.equal(reader.next(), false);
  });

  it("decodes numbers of every size", () => {
    for (const value of [0, 1, 127, 128, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER]) {
      const reader = new WireReader(new WireWriter().number(1, value).finish());
      assert.ok(reader.next());
      assert.equal(reader.number(), value);
    }
    const reader = new WireReader(new WireWriter().number(1, 7587862094606401234n).finish());
    assert.ok(reader.next());
    assert.equal(reader.int64(), 7587862094606401234n);
  });

  it("rejects values that exceed the message", () => {
    assert.throws(() => reading(0x08).number(), /^DecodeFault: unexpected EOF$/);
    assert.throws(() => reading(0x0a, 2, 1).bytes(), /^DecodeFault: unexpected EOF$/);
    assert.throws(
      () =>
        reading(0x0a, 2, 0x12, 5, 1, 1, 1).message((inner) => {
          assert.ok(inner.next());
          inner.skip();
        }),
      /^DecodeFault: unexpected EOF$/,
    );
    const negative = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert.throws(() => reading(0x0a, ...negative).bytes(), /negative length/);
    assert.throws(() => reading(0x08, ...negative.fill(0xff), 0xff).number(), /integer overflow/);
  });

  it("rejects an unexpected wire type", () => {
    const message = /^DecodeFault: proto: wrong wireType = 0 for field number 1$/;
    assert.throws(() => reading(0x08, 1).text(), message);
    assert.throws(() => reading(0x08, 1).message(() => undefined), message);
    assert.throws(() => reading(0x0a, 0).number(), DecodeFault);
  });

  it("skips groups, including nested ones, and rejects an unmatched end", () => {
    const reader = reading(0x0b, 0x13, 0x08, 1, 0x14, 0x0c, 0x10, 7);
    reader.skip();
    assert.ok(reader.next());
    assert.equal(reader.number(), 7);
    assert.throws(() => reading(0x0c).skip(), /unexpected end of group/);
  });

  it("agrees with writeDelimited about sizes", () => {
    for (const length of [0, 1, 127, 128, 16_383, 16_384, 2_097_152]) {
      const value = Buffer.alloc(length, 7);
      const size = delimitedSize(length);
      const into = Buffer.alloc(size);
      assert.equal(writeDelimited(into, 0, 2, value), size);
      assert.ok(into.equals(new WireWriter().bytes(2, value).finish()), String(length));
    }
  });
});
