import assert from "node:assert/strict";
import { seededRandom } from "../random.ts";
import { parseJsonText } from "./parse-json.ts";

/** The entries of an object in their order, all the way down. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).map(([key, inner]) => [key, shown(inner)]);
}

describe("parseJsonText", () => {
  it("parses keys with escapes after similar keys", () => {
    const plain = ['k:{\\"name\\":\\"ap', "\\", "\\u00", "a\\"];
    for (const key of plain) parseJsonText(JSON.stringify({ x: [], [key]: 1 }));
    for (const key of ['k:{"name":"app"}', "\n", '"', "a\n", "\u0001"]) {
      const value = { x: 1, [key]: 2, y: { [key]: [{ [key]: 3 }] } };
      assert.deepEqual(shown(parseJsonText(JSON.stringify(value))), shown(value));
    }
  });

  it("parses what JSON.stringify printed", () => {
    const random = seededRandom(7);
    const word = () =>
      Array.from({ length: random.below(4) }, () => random.pick([...'ab"\\{}[],:é\n '])).join("");
    const value = (depth: number): unknown => {
      if (depth > 2 || random.below(3) === 0) return random.pick([word(), 1, null, true]);
      const inner = Array.from({ length: random.below(4) }, () => value(depth + 1));
      return random.below(3) === 0
        ? inner
        : Object.fromEntries(inner.map((each) => [word(), each]));
    };
    for (let round = 0; round < 20_000; round++) {
      const before = value(0);
      const text = JSON.stringify(before, undefined, random.below(3));
      assert.deepEqual(shown(parseJsonText(text)), shown(before), text);
    }
  });

  it("keeps __proto__ and numbers as keys, and the last of two equal keys", () => {
    const value = parseJsonText('{"\\u005f_proto__":{"a\\n":1},"2":1,"b\\t":1,"b\\t":2}') as object;
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.deepEqual(Object.keys(value).sort(), ["2", "__proto__", "b\t"]);
    assert.equal((value as any)["b\t"], 2);
  });

  it("rejects invalid JSON as JSON.parse does", () => {
    for (const text of [
      '{"a\\n":1',
      '{"a\\x":1}',
      '{"a\\n":1,}',
      '"\\',
      '{"\\n":1}x',
      '{"a\\n" 1}',
    ]) {
      let native: unknown;
      try {
        JSON.parse(text);
      } catch (error) {
        native = error;
      }
      assert.throws(() => parseJsonText(text), { message: (native as Error).message }, text);
    }
  });

  it("takes linear time for hostile texts", () => {
    const count = 200_000;
    for (const text of ['"\\"'.repeat(count), '{"\\"":'.repeat(count), "\\".repeat(count)]) {
      assert.throws(() => parseJsonText(text), SyntaxError);
    }
    const deep = `${'{"\\n":'.repeat(count)}1${"}".repeat(count)}`;
    let depth = 0;
    for (let value = parseJsonText(deep); typeof value === "object"; depth++) {
      value = (value as any)["\n"];
    }
    assert.equal(depth, count);
  });
});
