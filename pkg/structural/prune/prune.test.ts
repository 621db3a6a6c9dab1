import assert from "node:assert/strict";
import { atOnce } from "#base";
import { DecodeFault } from "#schema";
import { applyDefaults, CompiledSchema, type JsonSchema, pruneObject } from "../index.ts";

type JsonObject = Record<string, unknown>;

const text: JsonSchema = { type: "string" };
const object = (properties: Readonly<Record<string, JsonSchema>>, rest: JsonSchema = {}) =>
  ({ type: "object", properties, ...rest }) satisfies JsonSchema;

const parsed = (json: string) => JSON.parse(json) as JsonObject;

function pruned(schema: JsonSchema, spec: string) {
  const value = parsed(`{"metadata":{"name":"n"},"spec":${spec}}`);
  const unknown = atOnce(pruneObject(value, new CompiledSchema(object({ spec: schema }))));
  return [JSON.stringify(value["spec"]), ...unknown] as const;
}

describe("pruning", () => {
  const keeps = "x-kubernetes-preserve-unknown-fields";
  const cases: readonly (readonly [JsonSchema, string, string, ...string[]])[] = [
    [object({ a: text }), '{"z":1,"a":"x"}', '{"a":"x"}', "spec.z"],
    [
      { type: "array", items: object({ n: text }) },
      '[{"n":"1","m":2}]',
      '[{"n":"1"}]',
      "spec[0].m",
    ],
    [
      { type: "object", additionalProperties: object({ v: text }) },
      '{"k":{"w":2}}',
      '{"k":{}}',
      "spec.k.w",
    ],
    [{ type: "object", additionalProperties: true }, '{"a":{"b":1}}', '{"a":{}}', "spec.a.b"],
    [{ [keeps]: true }, '{"a":[{"b":null}]}', '{"a":[{"b":null}]}'],
    [
      object({ known: object({}) }, { [keeps]: true }),
      '{"any":{"x":1},"known":{"x":1}}',
      '{"any":{"x":1},"known":{}}',
      "spec.known.x",
    ],
    [object({ a: text, n: { ...text, nullable: true } }), '{"a":null,"n":null}', '{"n":null}'],
    [object({}), '{"__proto__":{"polluted":true}}', "{}", "spec.__proto__"],
  ];
  for (const [schema, before, after, ...unknown] of cases) {
    it(`${before} in ${JSON.stringify(schema)}`, () => {
      assert.deepEqual(pruned(schema, before), [after, ...unknown]);
    });
  }

  it("rejects objects that could not be decoded again", () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const keepsAll: JsonSchema = { [keeps]: true };
    assert.deepEqual(pruned(keepsAll, nested(400)), [nested(400)]);
    assert.throws(() => pruned(keepsAll, nested(600)), DecodeFault);
  });

  it("normalizes the metadata of embedded resources", () => {
    const embedded = object({}, { "x-kubernetes-embedded-resource": true });
    const metadata = '"metadata":{"name":"n","colour":"red","creationTimestamp":null}';
    assert.deepEqual(pruned(embedded, `{"apiVersion":"v1","kind":"A",${metadata},"data":{}}`), [
      '{"apiVersion":"v1","kind":"A","metadata":{"name":"n"}}',
      "spec.data",
      "spec.metadata.colour",
    ]);
    const wrong = () => pruned(embedded, '{"metadata":{"labels":{"a":1}}}');
    assert.throws(
      wrong,
      (fault) => fault instanceof DecodeFault && fault.message.startsWith("spec.metadata: "),
    );
  });
});

describe("defaults", () => {
  const filled = (schema: JsonSchema, spec: string) => {
    const value = parsed(`{"spec":${spec}}`);
    applyDefaults(value, new CompiledSchema(object({ spec: schema })));
    return JSON.stringify(value["spec"]);
  };
  const mode: JsonSchema = { ...text, default: "auto" };

  it("replace absent fields, and nulls that are not nullable", () => {
    const schema = object({ mode, free: { ...mode, nullable: true } });
    assert.equal(filled(schema, "{}"), '{"mode":"auto","free":"auto"}');
    assert.equal(filled(schema, '{"mode":null,"free":null}'), '{"mode":"auto","free":null}');
    assert.equal(filled(schema, '{"mode":"","free":"x"}'), '{"mode":"","free":"x"}');
  });

  it("are applied from the root to the leaves", () => {
    const inner = object({ mode });
    const schema = object({
      made: { ...inner, default: {} },
      absent: inner,
      list: { type: "array", items: inner },
      map: { type: "object", additionalProperties: inner },
    });
    assert.equal(
      filled(schema, '{"list":[{}],"map":{"k":{}}}'),
      '{"list":[{"mode":"auto"}],"map":{"k":{"mode":"auto"}},"made":{"mode":"auto"}}',
    );
  });

  it("are copied into each object", () => {
    const schema = new CompiledSchema(object({ l: { type: "array", default: ["a"] } }));
    const one: JsonObject = {};
    const other: JsonObject = {};
    for (const each of [one, other]) applyDefaults(each, schema);
    (one["l"] as string[]).push("b");
    assert.deepEqual(other, { l: ["a"] });
  });
});
