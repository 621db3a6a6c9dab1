import assert from "node:assert/strict";
import { JsonFault } from "../fault/faults.ts";
import { parseExactJson, parseJson } from "./json-parse.ts";
import { parsePrecisely } from "./json-precise.ts";

function fault(text: string | Uint8Array): string {
  try {
    parseJson(text);
  } catch (error) {
    assert.ok(error instanceof JsonFault, String(error));
    return error.message;
  }
  return assert.fail("accepted");
}

describe("parseJson", () => {
  it("parses what the native parser parses, on both paths", () => {
    for (const text of [
      "7",
      '"a"',
      "[]",
      "{}",
      ' { "a" : [ 1 , -2.5e3, true, false, null, "\\u00e9\\n\\"\\\\" ] , "b":{"c":{}} } \n',
      '{"quoted \\" colon: ":"{[:,\\\\","x":0.1}',
      '["\\\\", "\\\\\\"", ":"]',
    ]) {
      assert.deepEqual(parseJson(text).value, JSON.parse(text));
      assert.deepEqual(parsePrecisely(text).value, JSON.parse(text));
      assert.deepEqual(parseJson(Buffer.from(text)).value, JSON.parse(text));
    }
  });

  it("reports duplicate keys by path, once, in document order", () => {
    const text =
      '{"metadata":{"name":"first","name":"d0","name":"d1"},' +
      '"list":[{"b":1},{"b":1,"b":2}],"data":{"k":"1","k":"2"},"data":{"k":"3","z":"4"}}';
    const { value, duplicates } = parseJson(text);
    assert.deepEqual(duplicates, ["metadata.name", "list[1].b", "data.k", "data"]);
    assert.deepEqual(value, {
      metadata: { name: "d1" },
      list: [{ b: 1 }, { b: 2 }],
      data: { k: "3", z: "4" },
    });
  });

  it("takes time linear in the text, whatever is repeated", () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `"k${index}":1`).join(",");
    const text = `{"a":{${many}}${',"a":{"x":1}'.repeat(50_000)},"n":${"9".repeat(1_000_000)}}`;
    assert.deepEqual(parseJson(text).duplicates, ["a"]);
  });

  it("keeps integers beyond 2^53 exactly, up to 64 bits", () => {
    const read = (text: string) => (parseJson(`[${text}]`).value as unknown[])[0];
    assert.equal(read("9007199254740991"), 9007199254740991);
    assert.equal(read("9007199254740993"), 9007199254740993n);
    assert.equal(read("-9223372036854775808"), -9223372036854775808n);
    assert.equal(read("9223372036854775808"), 9223372036854775808);
    assert.equal(read("1e3"), 1000);
  });

  it("treats __proto__ as a key like any other", () => {
    for (const more of ["", ',"n":12345678901234567890']) {
      const text = `{"__proto__":{"a":1}${more}}`;
      const value = parseJson(text).value as object;
      assert.deepEqual(Object.keys(value)[0], "__proto__");
      assert.equal(Object.getPrototypeOf(value), Object.prototype);
    }
    assert.deepEqual(parseJson('{"__proto__":1,"__proto__":2}').duplicates, ["__proto__"]);
  });

  it("decodes half a surrogate pair as U+FFFD", () => {
    assert.equal(parseJson('"a\\ud800b"').value, "a\ufffdb");
    assert.equal(parseJson('"\\ud83d\\ude80"').value, "\u{1f680}");
  });

  it("accepts up to 10000 levels, without recursion", () => {
    assert.ok(parseJson("[".repeat(10_000) + "]".repeat(10_000)).value);
    const deep = '{"a":'.repeat(10_001);
    assert.equal(fault(deep), "invalid character '{' exceeded max depth");
    assert.equal(fault("[".repeat(1_000_000)), "invalid character '[' exceeded max depth");
  });

  const faults: readonly (readonly [string, string])[] = [
    ["", "unexpected end of JSON input"],
    [" \n ", "unexpected end of JSON input"],
    ['{"a":"b', "unexpected end of JSON input"],
    ['{"a":1', "unexpected end of JSON input"],
    ['{"m":{"n":"a"},}', "invalid character '}' looking for beginning of object key string"],
    ["{'a':1}", "invalid character '\\'' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":015}', "invalid character '1' after object key:value pair"],
    ["[1 2]", "invalid character '2' after array element"],
    ["{} // note", "invalid character '/' after top-level value"],
    ["{}{}", "invalid character '{' after top-level value"],
    ["\ufeff{}", "invalid character 'ï' looking for beginning of value"],
    ["NaN", "invalid character 'N' looking for beginning of value"],
    ["\u001f", "invalid character '\\x1f' looking for beginning of value"],
    ["[1,]", "invalid character ']' looking for beginning of value"],
    ["nul1", "invalid character '1' in literal null (expecting 'l')"],
    ["tru", "invalid character ' ' in literal true (expecting 'e')"],
    ["-a", "invalid character 'a' in numeric literal"],
    ["1.x", "invalid character 'x' after decimal point in numeric literal"],
    ["1e+x", "invalid character 'x' in exponent of numeric literal"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\q"', "invalid character 'q' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['"\\', "invalid character ' ' in string escape code"],
    ['{"a":"\u0001"}', "invalid character '\\x01' in string literal"],
    ["[1}", "invalid character '}' after array element"],
  ];
  for (const [text, message] of faults) {
    it(`rejects ${JSON.stringify(text)}`, () => assert.equal(fault(text), message));
  }
});

describe("parseExactJson", () => {
  it("keeps the digits of every int64", () => {
    for (const digits of ["9007199254740993", "-9223372036854775808", "9223372036854775807"]) {
      assert.deepEqual(parseExactJson(`{"a":[${digits}]}`), { a: [BigInt(digits)] });
    }
    assert.deepEqual(parseExactJson('{"a":1,"b":"12345678901234567890"}'), {
      a: 1,
      b: "12345678901234567890",
    });
  });
});
