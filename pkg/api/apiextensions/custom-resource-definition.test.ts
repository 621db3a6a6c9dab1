import assert from "node:assert/strict";
import { fromJson, fromProtobuf, toJsonValue, toProtobuf } from "#schema";
import { created, type Sketch, updated } from "../testing.ts";
import { customResourceDefinition } from "./custom-resource-definition.ts";
import { jsonSchemaProps } from "./json-schema.ts";

const names = { plural: "widgets", kind: "Widget" };
const object = (properties: Sketch) => ({ type: "object", properties });

function version(schema: Sketch, rest: Sketch = {}): Sketch {
  return { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...rest };
}

const sketch = (schema: Sketch, spec: Sketch = {}) => ({
  metadata: { name: "widgets.example.com" },
  spec: { group: "example.com", scope: "Namespaced", names, versions: [version(schema)], ...spec },
});

const complaints = (schema: Sketch, spec: Sketch = {}) =>
  created(customResourceDefinition, sketch(schema, spec)).complaints;

const place = "spec.validation.openAPIV3Schema";
const versionPlace = "spec.versions[0].schema.openAPIV3Schema";

/** Complaints about a schema, at the definition or at its only version. */
const about = (schema: Sketch) =>
  complaints(object(schema)).map((each) =>
    each.replace(place, "schema").replace(versionPlace, "schema"),
  );

describe("CustomResourceDefinition", () => {
  it("defaults names and records the storage version", () => {
    const { object: definition, complaints: found } = created(
      customResourceDefinition,
      sketch(object({})),
    );
    assert.deepEqual(found, []);
    assert.deepEqual(definition.spec.names, {
      ...names,
      listKind: "WidgetList",
      singular: "widget",
    });
    assert.deepEqual(definition.spec.conversion, { strategy: "None" });
    assert.deepEqual(definition.status.storedVersions, ["v1"]);
  });

  it("requires exactly one storage version", () => {
    const versions = [version(object({})), version(object({}), { name: "v2" })];
    const detail = "must have exactly one version marked as storage version";
    const [first] = complaints({}, { versions });
    assert.match(first ?? "", new RegExp(`^Invalid spec\\.versions = .*: ${detail}$`));
  });

  it("rejects changes of the group, and of the scope once established", () => {
    const old = created(customResourceDefinition, sketch(object({})));
    const moved = { ...sketch(object({}), { group: "other.com", scope: "Cluster" }) };
    const conditions = [{ type: "Established", status: "True" }];
    const status = { ...old.object.status, conditions };
    const established = { ...old, object: { ...old.object, status } };
    const fixed = (from: typeof old) =>
      updated(customResourceDefinition, from, moved)
        .complaints.filter((each) => each.endsWith("field is immutable"))
        .map((each) => each.split(" ")[1]);
    assert.deepEqual(fixed(old), ["spec.group"]);
    assert.deepEqual(fixed(established), ["spec.scope", "spec.group"]);
  });

  it("requires structural schemas", () => {
    assert.deepEqual(about({ a: {} }), [
      "Required schema.properties[a].type: must not be empty for specified object fields",
    ]);
    // Schemas that are not structural are reported without other errors.
    assert.deepEqual(about({ a: { $ref: "#/b" } }), [
      "Forbidden schema.properties[a].$ref: $ref is not supported",
    ]);
    assert.deepEqual(about({ a: { type: "string", allOf: [{ type: "string" }] } }), [
      "Forbidden schema.properties[a].allOf[0].type: must be empty to be structural",
    ]);
    const anyOf = [{ type: "string" }, { type: "integer" }];
    assert.deepEqual(about({ a: { anyOf, "x-kubernetes-int-or-string": true } }), [
      "Forbidden schema.properties[a].anyOf[0].type: must be empty to be structural",
      "Forbidden schema.properties[a].anyOf[1].type: must be empty to be structural",
    ]);
  });

  it("rejects patterns that Go cannot compile, and unknown types", () => {
    assert.deepEqual(about({ a: { type: "string", pattern: "(?=x)" } }), [
      'Invalid schema.properties[a].pattern = "(?=x)": must be a valid regular expression, ' +
        "but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    ]);
    assert.match(about({ a: { type: "text" } }).join(), /^NotSupported .*type = "text"/);
  });
});

describe("JSONSchemaProps", () => {
  const schemas: readonly Sketch[] = [
    { items: { type: "string" } },
    { items: [{ type: "string" }, { type: "number" }] },
    { additionalProperties: true },
    { additionalProperties: { type: "object", properties: { a: { default: [null] } } } },
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    { enum: [null, 1, "a", { b: [false] }], default: { x: 0 }, example: "e" },
  ];
  for (const schema of schemas) {
    it(`round-trips ${JSON.stringify(schema)}`, () => {
      const decoded = fromJson(jsonSchemaProps, schema);
      const bytes = toProtobuf(jsonSchemaProps, decoded);
      assert.deepEqual(toJsonValue(jsonSchemaProps, fromProtobuf(jsonSchemaProps, bytes)), schema);
    });
  }
});
