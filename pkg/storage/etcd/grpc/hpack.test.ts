import assert from "node:assert/strict";
import { decodeHeaders, encodeHeaders, HpackFault } from "./hpack.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

describe("header blocks", () => {
  it("decode what they encode, whatever the length", () => {
    for (const length of [0, 1, 126, 127, 128, 254, 255, 256, 5_000]) {
      const value = "v".repeat(length);
      assert.deepEqual([...decodeHeaders(encodeHeaders([["name", value]]))], [["name", value]]);
    }
  });

  it("decode Huffman codes, as in RFC 7541, appendix C.4.3", () => {
    const block = bytes("40 88 25a849e95ba97d7f 89 25a849e95bb8e8b4bf");
    assert.deepEqual([...decodeHeaders(block)], [["custom-key", "custom-value"]]);
  });

  it("skip other fields that the static table names, and sizes of a table of 0", () => {
    const block = bytes("20 84 5f 10 6170706c69636174696f6e2f67727063 00 01 61 01 62");
    assert.deepEqual([...decodeHeaders(block)], [["a", "b"]]);
  });

  for (const [hex, status] of [
    ["88", "200"],
    ["8d", "404"],
    ["48 03 343239", "429"],
    ["08 82 6402", "302"],
  ] as const) {
    it(`have status ${status}`, () => {
      assert.deepEqual([...decodeHeaders(bytes(hex))], [[":status", status]]);
    });
  }

  it("have a time after which to retry", () => {
    assert.deepEqual([...decodeHeaders(bytes("0f 26 01 31"))], [["retry-after", "1"]]);
  });

  for (const [what, hex] of [
    ["a field of a dynamic table", "be"],
    ["a table of another size", "3f e1 1f"],
    ["a name that is cut", "00 05 61"],
    ["a field that is cut", "00"],
    ["a number without end", "00 7f ff ff ff ff ff"],
    ["an end of string inside a string", "00 01 61 84 ffffffff"],
  ] as const) {
    it(`refuse ${what}`, () => {
      assert.throws(() => decodeHeaders(bytes(hex)), HpackFault);
    });
  }
});
