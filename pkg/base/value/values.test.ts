import assert from "node:assert/strict";
import { assign, compareUtf8, concatBytes, toBuffer } from "../text/bytes.ts";
import { atOnce } from "../async/slices.ts";
import { deepClone as cloneAtOnce, deepCloneInSlices } from "./clone.ts";
import {
  certainlyDiffer,
  certainlyDifferInSlices,
  deepEqual as equalAtOnce,
  deepEqualInSlices,
} from "./equal.ts";
import { OpaqueJson, printJson } from "../text/json-text.ts";

/** Compares in both ways. */
function deepEqual(left: unknown, right: unknown): boolean {
  const result = equalAtOnce(left, right);
  assert.equal(atOnce(deepEqualInSlices(left, right)), result);
  return result;
}

/** Copies in both ways. */
function deepClone<T>(value: T): T {
  const copy = cloneAtOnce(value);
  assert.deepEqual(atOnce(deepCloneInSlices(value)), copy);
  return copy;
}

describe("OpaqueJson", () => {
  it("is the same value with its text or its value, and shared by copies", () => {
    const read = OpaqueJson.of({ a: [1, { b: 2n ** 60n }] });
    const written = OpaqueJson.printed('{"a":[1,{"b":2}]}');
    assert.equal(read.text, '{"a":[1,{"b":1152921504606846976}]}');
    assert.deepEqual(written.value, { a: [1, { b: 2 }] });
    assert.ok(deepEqual({ x: written }, { x: { a: [1, { b: 2 }] } }));
    assert.ok(!deepEqual({ x: written }, { x: read }));
    assert.equal(deepClone({ x: written }).x, written);
    const opened = OpaqueJson.of({ a: [1, { b: 2n ** 60n }], c: { d: undefined, e: {} } });
    const again = OpaqueJson.of(opened.value);
    atOnce(again.print());
    assert.equal(again.length, opened.text.length);
    assert.equal(again.text, opened.text);
    assert.equal(printJson({ x: written, y: 2n ** 60n }), `{"x":${written.text},"y":${2n ** 60n}}`);
    assert.equal(printJson([written]), `[${written.text}]`);
  });
});

describe("deepEqual", () => {
  it("compares by structure", () => {
    assert.ok(deepEqual({ a: [1, { b: null }], c: "x" }, { c: "x", a: [1, { b: null }] }));
    assert.ok(deepEqual(2n ** 60n, 2n ** 60n));
    for (const [left, right] of [
      [{ a: 1 }, { a: 2 }],
      [{ a: 1 }, { a: 1, b: 1 }],
      [{ a: 1, b: 1 }, { a: 1 }],
      [{ a: null }, {}],
      [[1], { 0: 1 }],
      [[1, 2], [1]],
      ["1", 1],
      [null, {}],
    ]) {
      assert.equal(deepEqual(left, right), false);
    }
  });

  it("treats undefined as absent, and ignores inherited names", () => {
    assert.ok(deepEqual({ a: 1, b: undefined }, { a: 1, c: undefined }));
    assert.equal(deepEqual(JSON.parse('{"constructor":1}'), {}), false);
    assert.equal(deepEqual(JSON.parse('{"__proto__":{}}'), JSON.parse('{"x":{}}')), false);
  });
});

describe("certainlyDiffer", () => {
  const differs: readonly (readonly [unknown, unknown])[] = [
    [{ a: 1 }, { a: 2 }],
    [{ a: { b: ["x"] } }, { a: { b: ["y"] } }],
    [{ a: [1] }, { a: [1, 2] }],
    [{ a: "x" }, {}],
    [{ a: true }, { a: false }],
    [{ a: 3 }, { a: 0 }],
    [{ a: 2n ** 60n }, { a: 2n ** 61n }],
    [{ a: [{ b: null, c: "x" }] }, { a: [{ c: "y" }] }],
  ];
  const may: readonly (readonly [unknown, unknown])[] = [
    [{ a: 1 }, { a: 1 }],
    [{ a: "" }, {}],
    [{ a: 0 }, { a: null }],
    [{ a: [] }, {}],
    [{ a: {} }, { a: null }],
    [{ a: [{}] }, { a: [{ b: "" }] }],
    [{ a: 1 }, { a: 1n }],
    [{ a: OpaqueJson.of({ b: 1 }) }, { a: OpaqueJson.of({ b: 2 }) }],
    [{ a: [1] }, { a: [] }],
    [{ a: 1, b: undefined }, { a: 1 }],
  ];

  it("finds scalars and lengths that differ, in both directions", () => {
    for (const [left, right] of differs) {
      assert.equal(certainlyDiffer(left, right), true);
      assert.equal(certainlyDiffer(right, left), true);
    }
  });

  it("has the same result in slices", () => {
    for (const [left, right] of [...differs, ...may]) {
      const expected = certainlyDiffer(left, right);
      for (const levels of [0, 1, 3]) {
        assert.equal(atOnce(certainlyDifferInSlices(left, right, levels)), expected);
        assert.equal(atOnce(certainlyDifferInSlices(right, left, levels)), expected);
      }
    }
  });

  it("is false where an equivalence of empty parts may make the values equal", () => {
    for (const [left, right] of may) {
      assert.equal(certainlyDiffer(left, right), false);
      assert.equal(certainlyDiffer(right, left), false);
    }
  });
});

describe("deepClone", () => {
  it("copies everything, including a key __proto__, and shares nothing", () => {
    const source = JSON.parse('{"a":[{"b":1}],"__proto__":{"c":2}}');
    const copy = deepClone(source);
    assert.deepEqual(copy, source);
    assert.deepEqual(Object.keys(copy), ["a", "__proto__"]);
    copy.a[0].b = 2;
    assert.equal(source.a[0].b, 1);
  });
});

describe("bytes", () => {
  it("orders strings by their UTF-8 bytes", () => {
    const low = ["", "a", "ab", "b", "é", "\ud7ff"];
    const texts = [...low, "\uffee", "\u{1f680}", "\u{1f680}a", "\u{1f681}"];
    for (const left of texts) {
      for (const right of texts) {
        const wanted = Buffer.compare(Buffer.from(left), Buffer.from(right));
        assert.equal(Math.sign(compareUtf8(left, right)), wanted, `${left} ${right}`);
      }
    }
  });

  it("sets an own property of any name", () => {
    const target: Record<string, unknown> = {};
    assign(target, "__proto__", 1);
    assign(target, "a", 2);
    assert.deepEqual(Object.entries(target), [
      ["__proto__", 1],
      ["a", 2],
    ]);
  });

  it("joins and views bytes with minimal copying", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    assert.deepEqual([...concatBytes([bytes, bytes.subarray(1)])], [1, 2, 3, 2, 3]);
    const view = toBuffer(bytes.subarray(1));
    bytes[1] = 9;
    assert.deepEqual([...view], [9, 3]);
  });
});
