import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { customResourceDefinition } from "./custom-resource-definition.ts";
import { unknownFormats } from "./schema-rules.ts";

const sketch = (schema: Sketch, spec: Sketch = {}): Sketch => ({
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    ...spec,
  },
});

const field = (f: Sketch): Sketch => ({ type: "object", properties: { f } });
const short = (complaint: string) =>
  complaint
    .replaceAll("spec.validation.openAPIV3Schema", "schema")
    .replaceAll("schema.properties[f]", "f");

/** Complaints about a schema of the field `f`. */
const about = (f: Sketch) =>
  created(customResourceDefinition, sketch(field(f))).complaints.map(short);

const rules = (...all: readonly Sketch[]) => ({ "x-kubernetes-validations": all });

describe("defaults in CustomResourceDefinition schemas", () => {
  it("must be valid and contain no unknown fields", () => {
    assert.deepEqual(about({ type: "integer", default: 5 }), []);
    assert.deepEqual(about({ type: "integer", default: "five" }), [
      'TypeInvalid f.default = "string":  in body must be of type integer: "string"',
    ]);
    const object = { type: "object", properties: { a: { type: "string" } } };
    assert.deepEqual(about({ ...object, default: { b: 1 } }), [
      'Invalid f.default = {"b":1}: must not have unknown fields',
    ]);
    assert.deepEqual(about({ ...object, required: ["a"], default: {} }), ["Required f.default.a"]);
  });

  it("must satisfy the CEL rules of their schemas", () => {
    const rule = rules({ rule: "self > 1", message: "m" });
    assert.deepEqual(about({ type: "integer", default: 1, ...rule }), [
      'Invalid f.default = "integer": m',
    ]);
    assert.deepEqual(about({ type: "integer", default: 2, ...rule }), []);
  });

  it("must result in valid metadata of embedded resources", () => {
    const metadata = { type: "object", properties: { name: { type: "string", default: "A b" } } };
    const embedded = {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: {
        metadata: {
          ...metadata,
          properties: {
            labels: {
              type: "object",
              default: { a: "b c" },
              additionalProperties: { type: "string" },
            },
          },
        },
      },
    };
    assert.match(
      about(embedded).join(),
      /^Invalid .*must result in valid metadata: metadata\.labels/,
    );
  });
});

describe("CEL rules in CustomResourceDefinition schemas", () => {
  it("must compile and return a boolean", () => {
    const [complaint = ""] = about({ type: "string", ...rules({ rule: "self > 1" }) });
    assert.match(
      complaint,
      /^Invalid f\.x-kubernetes-validations\[0\]\.rule = \{"Rule":"self > 1",/,
    );
    assert.match(complaint, /compilation failed: ERROR: <input>:1:6: found no matching overload/);
    assert.match(
      about({ type: "string", ...rules({ rule: "self" }) }).join(),
      /: cel expression must evaluate to a bool$/,
    );
  });

  it("may use oldSelf only in correlatable parts of the schema", () => {
    const items = { type: "string", ...rules({ rule: "self == oldSelf" }) };
    assert.deepEqual(about({ type: "array", maxItems: 3, items }), [
      'Invalid f.items.x-kubernetes-validations[0].rule = "self == oldSelf": oldSelf cannot be ' +
        "used on the uncorrelatable portion of the schema within f",
    ]);
    assert.deepEqual(about(items), []);
  });

  const dear = { type: "string", ...rules({ rule: "self.matches('^a*b$') || self == ''" }) };
  const tooDear = /estimated rule cost exceeds budget by factor of more than 100x/;

  it("must stay below the cost limit, including repeated evaluation in lists", () => {
    assert.deepEqual(about({ ...dear, maxLength: 100 }), []);
    const list = { type: "array", items: { ...dear, maxLength: 100_000 } };
    assert.match(about(list).join(), tooDear);
    assert.deepEqual(about({ ...list, maxItems: 5 }), []);
  });

  it("skip the cost limit if the schema is unchanged", () => {
    const schema = field({ type: "array", items: dear });
    const old = created(customResourceDefinition, sketch(field({ type: "string" })));
    const versions = sketch(schema)["spec"] as { versions: unknown };
    const stored = { ...old, object: { ...old.object, spec: { ...old.object.spec, ...versions } } };
    const complaints = (from: typeof old) =>
      updated(customResourceDefinition, from, sketch(schema)).complaints.join();
    assert.match(complaints(old), tooDear);
    assert.doesNotMatch(complaints(stored), tooDear);
  });

  it("must have a fieldPath to an existing field", () => {
    const object = { type: "object", properties: { a: { type: "string" } } };
    const blaming = (fieldPath: string) =>
      about({ ...object, ...rules({ rule: "true", fieldPath }) });
    assert.deepEqual(blaming(".a"), []);
    for (const path of [".b", "a", ".a[0]", ".a.b"]) {
      assert.match(blaming(path).join(), /must be a valid path$/);
    }
  });
});

describe("ratcheting of CustomResourceDefinitions", () => {
  it("skips rules that the old definition violates, but no others", () => {
    const set = { type: "array", items: { type: "object" }, "x-kubernetes-list-type": "set" };
    const old = created(customResourceDefinition, sketch(field(set)));
    const wrong = /must be atomic as item of a list/;
    assert.match(old.complaints.join(), wrong);
    const { complaints } = updated(customResourceDefinition, old, sketch(field(set)));
    assert.doesNotMatch(complaints.join(), wrong);
    const unpruned = { type: "object", properties: {}, default: { b: 1 } };
    const worse = sketch({ type: "object", properties: { f: set, g: unpruned } });
    assert.match(updated(customResourceDefinition, old, worse).complaints.join(), /unknown fields/);
  });
});

describe("CA bundles of conversion webhooks", () => {
  const webhook = (caBundle: string) => ({
    conversion: {
      strategy: "Webhook",
      webhook: {
        clientConfig: { url: "https://example.com/convert", caBundle },
        conversionReviewVersions: ["v1"],
      },
    },
  });
  const schema = field({ type: "string" });
  const text = Buffer.from("no certificate").toString("base64");

  it("may be invalid until the resource is established", () => {
    const fresh = created(customResourceDefinition, sketch(schema, webhook(text)));
    assert.deepEqual(fresh.complaints, []);
    const old = created(customResourceDefinition, sketch(schema, webhook("")));
    const conditions = [{ type: "Established", status: "True" }];
    const status = { ...old.object.status, conditions };
    const served = { ...old, object: { ...old.object, status } };
    const complaints = (from: typeof old) =>
      updated(customResourceDefinition, from, sketch(schema, webhook(text))).complaints.join();
    assert.doesNotMatch(complaints(old), /root certificates/);
    assert.match(complaints(served), /unable to load root certificates/);
  });
});

describe("hostile schemas", () => {
  it("are accepted up to the depth limit of the decoder", () => {
    const anyOf = [{ minLength: 1 }, { maxLength: 9 }];
    let deep: Sketch = { type: "string", default: "x", anyOf, ...rules({ rule: "self != ''" }) };
    for (let depth = 0; depth < 100; depth++) deep = { type: "object", properties: { a: deep } };
    assert.deepEqual(about(deep), []);
  });

  it("may contain properties named __proto__ and constructor", () => {
    const properties = JSON.parse(
      '{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
    );
    assert.deepEqual(about({ type: "object", properties }), []);
  });
});

describe("unrecognized formats", () => {
  const found = (type: string, format: string) => [
    ...unknownFormats({ type: "object", properties: { a: { type, format } } } as never),
  ];
  it("are reported for strings only", () => {
    for (const format of ["k8s-short-name", "k8s-long-name", "int32", "double", "phone"]) {
      assert.deepEqual(found("string", format), [format]);
      assert.deepEqual(found("integer", format), []);
    }
  });
  it("exclude enforced formats, with or without dashes", () => {
    for (const format of ["date-time", "datetime", "ipv4", "uuid", "password"]) {
      assert.deepEqual(found("string", format), []);
    }
  });
});
