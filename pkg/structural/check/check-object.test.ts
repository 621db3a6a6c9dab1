import assert from "node:assert/strict";
import { atOnce } from "#base";
import { problemText } from "#meta";
import { checkObject, CompiledSchema, type JsonSchema } from "../index.ts";

type Json = Readonly<Record<string, unknown>>;

const object = (properties: Readonly<Record<string, JsonSchema>>, rest: JsonSchema = {}) =>
  ({ type: "object", properties, ...rest }) satisfies JsonSchema;

/** Faults of a field `f` of that schema: `f: what` for each, in order. */
function faults(schema: JsonSchema, value: unknown, old?: unknown): readonly string[] {
  const whole = (f: unknown): Json => ({ apiVersion: "a/v1", kind: "A", metadata: {}, f });
  const before = old === undefined ? {} : { old: whole(old) };
  const { problems } = atOnce(
    checkObject(whole(value), new CompiledSchema(object({ f: schema })), before),
  );
  return problems.list.map((problem) => `${problem.field || "<nil>"}: ${problemText(problem)}`);
}

const inBody = (value: string, rest: string) => `f: Invalid value: ${value}: f in body ${rest}`;
const text: JsonSchema = { type: "string" };

describe("values of a structural schema", () => {
  const cases: readonly (readonly [JsonSchema, unknown, ...string[]])[] = [
    [text, "x"],
    [text, 1, inBody('"integer"', 'must be of type string: "integer"')],
    [text, null, inBody('"null"', 'must be of type string: "null"')],
    [{ ...text, nullable: true }, null],
    [{ type: "integer" }, 1.5, inBody('"number"', 'must be of type integer: "number"')],
    [{ type: "integer" }, 9007199254740993n],
    [{ type: "number" }, 1],
    [
      { "x-kubernetes-int-or-string": true },
      true,
      inBody('"boolean"', 'must be of type integer,string: "boolean"'),
    ],
    [{ ...text, enum: ["a", "b"] }, "c", 'f: Unsupported value: "c": supported values: "a", "b"'],
    [
      { enum: [{ a: 1, b: 2 }], "x-kubernetes-preserve-unknown-fields": true },
      { b: 2, a: 1 },
    ],
    [{ ...text, maxLength: 2 }, "äöü", "f: Too long: may not be more than 2 bytes"],
    [{ ...text, maxLength: 2 }, "😀😀"],
    [{ ...text, minLength: 3 }, "😀😀", inBody('"😀😀"', "should be at least 3 chars long")],
    [{ ...text, pattern: "^a+$" }, "ab", inBody('"ab"', "should match '^a+$'")],
    [{ type: "integer", minimum: 3 }, 2, inBody("2", "should be greater than or equal to 3")],
    [
      { type: "integer", maximum: 3, exclusiveMaximum: true },
      3,
      inBody("3", "should be less than 3"),
    ],
    // Bounds of integers lose what is behind the point.
    [{ type: "number", maximum: 1.5 }, 2, inBody("2", "should be less than or equal to 1")],
    [{ type: "number", multipleOf: 0.1 }, 0.3],
    [{ type: "number", multipleOf: 0.1 }, 0.25, inBody("0.25", "should be a multiple of 0.1")],
    [{ type: "array", items: text, minItems: 1 }, [], inBody("0", "should have at least 1 items")],
    [
      { type: "array", items: text, maxItems: 1 },
      ["a", "b"],
      "f: Too many: 2: must have at most 1 item",
    ],
    [object({}, { required: ["a", "b"] }), { a: 1 }, "f.b: Required value"],
    [
      { type: "object", additionalProperties: text },
      { "a.b": 1 },
      'f.a.b: Invalid value: "integer": f.a.b in body must be of type string: "integer"',
    ],
    [{ type: "object", minProperties: 1 }, {}, inBody("0", "should have at least 1 properties")],
  ];
  for (const [schema, value, ...expected] of cases) {
    const shown = typeof value === "bigint" ? `${value}n` : JSON.stringify(value);
    it(`${shown} in ${JSON.stringify(schema)}`, () => {
      assert.deepEqual(faults(schema, value), expected);
    });
  }

  it("reports the errors of the best matching alternative", () => {
    const a = object({ a: text }, { required: ["a"] });
    const anyOf = [{ properties: { a: { minLength: 5 } } }, { required: ["b"] }];
    assert.deepEqual(faults({ ...a, anyOf }, { a: "x", c: 1 }), [
      '<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)',
      'f.a: Invalid value: "x": f.a in body should be at least 5 chars long',
    ]);
    assert.deepEqual(faults({ ...a, oneOf: [{ required: ["a"] }, {}] }, { a: "x" }), [
      '<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). ' +
        "Found 2 valid alternatives",
    ]);
    assert.deepEqual(faults({ ...text, not: { enum: ["x"] } }, "x"), [
      '<nil>: Invalid value: "": "f" must not validate the schema (not)',
    ]);
  });

  it("rejects duplicate items of sets and duplicate keys of lists of type map", () => {
    const set: JsonSchema = { type: "array", items: text, "x-kubernetes-list-type": "set" };
    assert.deepEqual(faults(set, ["a", "b", "a", "a"]), ['f[2]: Duplicate value: "a"']);
    const map: JsonSchema = {
      type: "array",
      items: object({ k: text, v: text }),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    };
    const twice = [{ v: "1", k: "a" }, { k: "a" }];
    assert.deepEqual(faults(map, twice), ['f[1]: Duplicate value: {"k":"a"}']);
    assert.deepEqual(faults(map, twice, twice), []);
  });
});

describe("ratcheting of errors in old values", () => {
  const short: JsonSchema = { ...text, maxLength: 1 };
  const long = "Too long: may not be more than 1 byte";

  it("ignores errors of unchanged values", () => {
    assert.deepEqual(faults(object({ a: short, b: text }), { a: "xx", b: "2" }, { a: "xx" }), []);
    assert.deepEqual(faults(object({ a: short }), { a: "yy" }, { a: "xx" }), [`f.a: ${long}`]);
  });

  it("reports errors of items that cannot be correlated", () => {
    const list: JsonSchema = { type: "array", items: short };
    assert.deepEqual(faults(list, ["xx"], ["xx"]), []);
    assert.deepEqual(faults(list, ["xx", "y"], ["xx"]), [`f[0]: ${long}`]);
  });

  it("ignores errors of unchanged items of lists of type map in any order", () => {
    const map: JsonSchema = {
      type: "array",
      items: object({ k: text, v: short }),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    };
    const a = { k: "a", v: "xx" };
    assert.deepEqual(faults(map, [{ k: "n", v: "1" }, a], [a]), []);
    assert.deepEqual(faults(map, [{ k: "n", v: "xx" }, a], [a]), [`f[0].v: ${long}`]);
  });

  it("reports errors of reordered sets", () => {
    const set: JsonSchema = { type: "array", items: short, "x-kubernetes-list-type": "set" };
    assert.deepEqual(faults(set, ["a", "xx"], ["a", "xx"]), []);
    assert.deepEqual(faults(set, ["xx", "a"], ["a", "xx"]), [`f[0]: ${long}`]);
  });
});

describe("hostile values", () => {
  it("may have field names of Object.prototype", () => {
    const odd = JSON.parse('{"__proto__":1,"constructor":2,"toString":3}') as Json;
    const schema = object({}, { additionalProperties: text });
    assert.equal(
      faults({ ...schema, properties: undefined } as unknown as JsonSchema, odd).length,
      3,
    );
    assert.deepEqual(faults(object({}, { required: ["toString"] }), {}), [
      "f.toString: Required value",
    ]);
  });

  it("report at most a thousand errors", () => {
    const many = Array.from({ length: 100_000 }, (_, index) => index);
    assert.equal(faults({ type: "array", items: text }, many).length, 1_000);
    const rules = { "x-kubernetes-validations": [{ rule: "false" }] };
    const items = { type: "integer", ...rules };
    assert.equal(faults({ type: "array", items }, many).length, 1_000);
  });

  it("cannot cause catastrophic backtracking of a pattern", () => {
    const pattern = "^(a+)+$";
    assert.equal(faults({ ...text, pattern }, `${"a".repeat(50_000)}b`).length, 1);
  });

  it("cannot cause exponential time in nested alternatives", () => {
    let schema: JsonSchema = { required: ["z"] };
    for (let depth = 0; depth < 30; depth++) {
      schema = { anyOf: [{ properties: { a: schema } }, { required: ["y"] }] };
    }
    let value: Json = {};
    for (let depth = 0; depth < 30; depth++) value = { a: value };
    assert.ok(faults({ ...schema, type: "object" }, value).length > 0);
  });
});
