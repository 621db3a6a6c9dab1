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

describe("defaults of definitions", () => {
  it("are values of their schemas, without unknown fields", () => {
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

  it("meet the rules of their schemas", () => {
    const rule = rules({ rule: "self > 1", message: "m" });
    assert.deepEqual(about({ type: "integer", default: 1, ...rule }), [
      'Invalid f.default = "integer": m',
    ]);
    assert.deepEqual(about({ type: "integer", default: 2, ...rule }), []);
  });

  it("fit into the metadata of embedded resources", () => {
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

describe("rules of definitions", () => {
  it("compile, and give a boolean", () => {
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

  it("look back only where values are known again", () => {
    const items = { type: "string", ...rules({ rule: "self == oldSelf" }) };
    assert.deepEqual(about({ type: "array", maxItems: 3, items }), [
      'Invalid f.items.x-kubernetes-validations[0].rule = "self == oldSelf": oldSelf cannot be ' +
        "used on the uncorrelatable portion of the schema within f",
    ]);
    assert.deepEqual(about(items), []);
  });

  const dear = { type: "string", ...rules({ rule: "self.matches('^a*b$') || self == ''" }) };
  const tooDear = /estimated rule cost exceeds budget by factor of more than 100x/;

  it("are cheap enough, counting how often they may be evaluated", () => {
    assert.deepEqual(about({ ...dear, maxLength: 100 }), []);
    const list = { type: "array", items: { ...dear, maxLength: 100_000 } };
    assert.match(about(list).join(), tooDear);
    assert.deepEqual(about({ ...list, maxItems: 5 }), []);
  });

  it("may be as dear as they were", () => {
    const schema = field({ type: "array", items: dear });
    const old = created(customResourceDefinition, sketch(field({ type: "string" })));
    const versions = sketch(schema)["spec"] as { versions: unknown };
    const stored = { ...old, object: { ...old.object, spec: { ...old.object.spec, ...versions } } };
    const complaints = (from: typeof old) =>
      updated(customResourceDefinition, from, sketch(schema)).complaints.join();
    assert.match(complaints(old), tooDear);
    assert.doesNotMatch(complaints(stored), tooDear);
  });

  it("name fields that there are", () => {
    const object = { type: "object", properties: { a: { type: "string" } } };
    const blaming = (fieldPath: string) =>
      about({ ...object, ...rules({ rule: "true", fieldPath }) });
    assert.deepEqual(blaming(".a"), []);
    for (const path of [".b", "a", ".a[0]", ".a.b"]) {
      assert.match(blaming(path).join(), /must be a valid path$/);
    }
  });
});

describe("definitions that were let in before", () => {
  it("may keep what is wrong with them, but for what is new", () => {
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

describe("certificates of conversion webhooks", () => {
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

  it("may be filled in late, but not with anything else once objects are served", () => {
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
  it("may be as deep as decoding allows, and as dear", () => {
    const anyOf = [{ minLength: 1 }, { maxLength: 9 }];
    let deep: Sketch = { type: "string", default: "x", anyOf, ...rules({ rule: "self != ''" }) };
    for (let depth = 0; depth < 100; depth++) deep = { type: "object", properties: { a: deep } };
    assert.deepEqual(about(deep), []);
  });

  it("may name fields as JavaScript does", () => {
    const properties = JSON.parse(
      '{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
    );
    assert.deepEqual(about({ type: "object", properties }), []);
  });
});

describe("formats that are not enforced", () => {
  const found = (type: string, format: string) => [
    ...unknownFormats({ type: "object", properties: { a: { type, format } } } as never),
  ];
  it("are told of strings only", () => {
    for (const format of ["k8s-short-name", "k8s-long-name", "int32", "double", "phone"]) {
      assert.deepEqual(found("string", format), [format]);
      assert.deepEqual(found("integer", format), []);
    }
  });
  it("are not those that are enforced, with or without dashes", () => {
    for (const format of ["date-time", "datetime", "ipv4", "uuid", "password"]) {
      assert.deepEqual(found("string", format), []);
    }
  });
});
