import assert from "node:assert/strict";
import { CompiledSchema, type JsonSchema, mergeShape, publishedSchema } from "../index.ts";

const metadata = { $ref: "meta" };
const text: JsonSchema = { type: "string" };

describe("OpenAPI of structural schemas", () => {
  const cases: readonly (readonly [JsonSchema, unknown, unknown])[] = [
    [
      { ...text, minLength: 1, default: false, example: "e" },
      { ...text, minLength: 1, default: false },
      { ...text, minLength: 1, default: false },
    ],
    [
      { "x-kubernetes-int-or-string": true },
      { "x-kubernetes-int-or-string": true },
      {
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "integer" }, { type: "string" }],
      },
    ],
    [{ ...text, nullable: true }, {}, { ...text, nullable: true }],
    [
      { type: "object", properties: { a: text }, oneOf: [{ required: ["a"] }] },
      { type: "object", properties: { a: text } },
      { type: "object", properties: { a: text }, oneOf: [{ required: ["a"] }] },
    ],
    [
      { type: "object", properties: { a: text }, "x-kubernetes-preserve-unknown-fields": true },
      { "x-kubernetes-preserve-unknown-fields": true },
      { type: "object", properties: { a: text }, "x-kubernetes-preserve-unknown-fields": true },
    ],
  ];
  for (const [schema, v2, v3] of cases) {
    it(JSON.stringify(schema), () => {
      assert.deepEqual(publishedSchema(schema, "v2", metadata), v2);
      assert.deepEqual(publishedSchema(schema, "v3", metadata), v3);
    });
  }

  it("includes apiVersion, kind and metadata of embedded resources", () => {
    const schema: JsonSchema = { type: "object", "x-kubernetes-embedded-resource": true };
    const { properties, required } = publishedSchema(schema, "v3", metadata) as any;
    assert.deepEqual(Object.keys(properties), ["apiVersion", "kind", "metadata"]);
    assert.deepEqual([properties.metadata, required], [metadata, ["kind", "apiVersion"]]);
  });
});

describe("merge shapes of structural schemas", () => {
  const shape = (schema: JsonSchema) => mergeShape(new CompiledSchema(schema));

  it("distinguish scalars, lists and maps", () => {
    assert.deepEqual(shape(text), { scalar: "string" });
    assert.deepEqual(shape({ ...text, format: "date" }), { scalar: "untyped" });
    const { list } = shape({
      type: "array",
      items: { type: "object", properties: { k: text, p: { ...text, default: "TCP" } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["p", "k"],
    });
    assert.equal(list?.relation, "map");
    assert.deepEqual(list?.keys, [
      ["k", undefined],
      ["p", "TCP"],
    ]);
    assert.equal(shape({ type: "array", items: text }).list?.relation, "atomic");
  });

  it("contain the specified fields", () => {
    const closed = shape({ type: "object", properties: { a: text } }).map;
    assert.deepEqual([...(closed?.fields.keys() ?? [])], ["a"]);
    assert.equal(closed?.element, undefined);
    assert.ok(shape({ type: "object" }).map?.element !== undefined);
    assert.equal(shape({ type: "object", "x-kubernetes-map-type": "atomic" }).map?.atomic, true);
    const embedded = shape({ type: "object", "x-kubernetes-embedded-resource": true }).map;
    assert.ok(embedded?.fields.get("metadata")?.map?.fields.has("labels"));
  });
});
