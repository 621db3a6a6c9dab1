import assert from "node:assert/strict";
import {
  required,
  bool,
  bytes,
  int32,
  lazy,
  list,
  map,
  nullablePointer,
  oneOf,
  pointer,
  value,
  scalar,
  string,
  structs,
} from "../struct/declare.ts";
import { openApiV2 } from "./openapi-v2.ts";
import { openApiV3 } from "./openapi-v3.ts";
import {
  openApiDefinitions,
  type OpenApiFold,
  type OpenApiNaming,
  type OpenApiRoot,
} from "./openapi.ts";
import type { StructType, Type } from "../struct/types.ts";

const v1 = structs("api/toys/v1");
const moment = scalar<string>({
  name: "Moment",
  package: "time",
  doc: "a point in time",
  fromJson: String,
  wire: structs("time")("Moment", "", {}),
  toWire: () => ({}),
  fromWire: () => "",
  openapi: { type: "string", format: "date-time" },
  zero: null,
});
const amount = scalar<string>({
  name: "Amount",
  package: "time",
  doc: "how much",
  fromJson: String,
  wire: structs("time")("Amount", "", {}),
  toWire: () => ({}),
  fromWire: () => "0",
  openapi: { type: "string", v3: { oneOf: [{ type: "string" }, { type: "number" }] } },
  zero: "0",
});
const nameOf = (packagePath: string, name: string) => `${packagePath.replaceAll("/", ".")}.${name}`;
const toyKind = { group: "toys", version: "v1", kind: "Toy" };

function rootOf(struct: StructType<any>, typeMeta = true): OpenApiRoot {
  return { struct, kinds: typeMeta ? [toyKind] : [], typeMeta };
}

function folded(dialect: (nameOf: OpenApiNaming) => OpenApiFold, roots: OpenApiRoot[]) {
  const definitions = [...openApiDefinitions(roots, nameOf, dialect(nameOf))];
  return Object.fromEntries(definitions.map(([name, { schema }]) => [name, schema]));
}

/** The v3 schema of a single field, without its description. */
function v3Field(field: object): unknown {
  const toy = v1("Toy", "A toy.", { it: field as never });
  const schema = folded(openApiV3, [rootOf(toy)])["api.toys.v1.Toy"] as any;
  const { description, ...rest } = schema.properties.it;
  assert.equal(description, "d");
  return { ...rest, ...(schema.required === undefined ? {} : { required: true }) };
}

describe("openapi v3 fold", () => {
  const part = v1("Part", "A part.", { size: pointer(1, int32, "d") });
  const reference = { $ref: "#/components/schemas/api.toys.v1.Part" };
  const partOf = { default: {}, allOf: [reference] };
  const needed = { required: true };
  const number = { type: "integer", format: "int32" };
  const base64 = { type: "string", format: "byte" };
  const time = { $ref: "#/components/schemas/time.Moment" };
  const quantity = { $ref: "#/components/schemas/time.Amount" };
  const items = (element: object) => ({ type: "array", items: element });
  const values = (element: object) => ({ type: "object", additionalProperties: element });
  const cases: readonly (readonly [string, object, unknown])[] = [
    ["optional scalar", pointer(1, string, "d"), { type: "string" }],
    ["plain scalar", value(1, int32, "d"), number],
    ["always scalar", required(1, string, "d"), { type: "string", default: "", ...needed }],
    ["always bool", required(1, bool, "d"), { type: "boolean", default: false, ...needed }],
    ["required pointer", pointer(1, bool, "d", needed), { type: "boolean", ...needed }],
    ["not needed", required(1, string, "d", { required: false }), { type: "string", default: "" }],
    ["nullable", nullablePointer(1, string, "d"), { type: "string", ...needed }],
    ["default of the server alone", pointer(1, int32, "d", { default: 3 }), number],
    [
      "published default",
      pointer(1, int32, "d", { default: 3, openApi: { default: true } }),
      { default: 3, ...number },
    ],
    [
      "required in rules, not in the schema",
      required(1, int32, "d", { required: true, openApi: { required: false } }),
      { default: 0, ...number },
    ],
    [
      "required in the schema, with a default",
      pointer(1, int32, "d", { default: 3, openApi: { required: true } }),
      { ...number, ...needed },
    ],
    [
      "values of the server alone",
      value(1, list(oneOf("b", "a")), "d", { openApi: { enum: false } }),
      items({ type: "string", default: "" }),
    ],
    [
      "other values in the schema",
      value(1, map(string), "d", { openApi: { enum: ["b", ""] } }),
      values({ type: "string", default: "", enum: ["", "b"] }),
    ],
    ["enum is sorted", value(1, oneOf("b", "a"), "d"), { type: "string", enum: ["a", "b"] }],
    ["bytes", value(1, map(bytes), "d"), values(base64)],
    ["strings", value(1, list(string), "d"), items({ type: "string", default: "" })],
    ["struct by value", value(1, part, "d"), partOf],
    ["struct pointer", pointer(1, part, "d"), { allOf: [reference] }],
    ["list of structs", value(1, list(part), "d"), items(partOf)],
    ["time by value has no default", value(1, moment, "d"), { allOf: [time] }],
    ["map of quantities", value(1, map(amount), "d"), values(quantity)],
    [
      "list map with merge key",
      value(1, list(part), "d", {
        listType: "map",
        listMapKeys: ["size"],
        patchStrategy: ["merge", "retainKeys"],
        patchMergeKey: "size",
      }),
      {
        type: "array",
        items: { default: {}, allOf: [reference] },
        "x-kubernetes-list-map-keys": ["size"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "size",
        "x-kubernetes-patch-strategy": "merge,retainKeys",
      },
    ],
  ];
  for (const [name, field, want] of cases) {
    it(name, () => assert.deepEqual(v3Field(field), want));
  }

  it("adds apiVersion, kind and group versions to root definitions only", () => {
    const toy = v1("Toy", "A toy.", { part: value(1, part, "its part") });
    const schemas = folded(openApiV3, [rootOf(toy)]) as any;
    const { properties, ...rest } = schemas["api.toys.v1.Toy"];
    assert.deepEqual(Object.keys(properties), ["apiVersion", "kind", "part"]);
    assert.deepEqual(rest["x-kubernetes-group-version-kind"], [toyKind]);
    assert.deepEqual(Object.keys(schemas["api.toys.v1.Part"].properties), ["size"]);
    assert.equal(schemas["api.toys.v1.Part"].description, "A part.");
  });

  it("flattens inline structs, with their required fields", () => {
    const source = v1("Source", "", { path: required(1, string, "d") });
    const toy = v1("Toy", "", {
      source: value(1, source, "d", { inline: true }),
      z: value(2, bool, "d"),
    });
    const schema = folded(openApiV3, [rootOf(toy, false)])["api.toys.v1.Toy"] as any;
    assert.deepEqual(Object.keys(schema.properties), ["path", "z"]);
    assert.deepEqual(schema.required, ["path"]);
  });

  it("closes recursive types", () => {
    const node: StructType<any> = v1("Node", "", {
      children: value(1, list(lazy<unknown>((): Type => node)), "d"),
    });
    const schemas = folded(openApiV3, [rootOf(node, false)]) as any;
    assert.deepEqual(schemas["api.toys.v1.Node"].properties.children.items, {
      default: {},
      allOf: [{ $ref: "#/components/schemas/api.toys.v1.Node" }],
    });
  });

  it("keeps a field named __proto__", () => {
    const fields = JSON.parse('{"__proto__": null}');
    Object.defineProperty(fields, "__proto__", { value: value(1, bool, "d"), enumerable: true });
    const roots = [rootOf(v1("Toy", "", fields), false)];
    const schema = folded(openApiV3, roots)["api.toys.v1.Toy"] as any;
    assert.deepEqual(Object.keys(schema.properties), ["__proto__"]);
  });

  it("marks atomic structs", () => {
    const toy = v1("Toy", "", { a: value(1, bool, "d") }, { atomic: true });
    const schema = folded(openApiV3, [rootOf(toy, false)])["api.toys.v1.Toy"] as any;
    assert.equal(schema["x-kubernetes-map-type"], "atomic");
  });
});

describe("openapi v2 fold", () => {
  it("keeps descriptions next to references, and prints no defaults", () => {
    const part = v1("Part", "A part.", { size: required(1, amount, "how big") });
    const toy = v1("Toy", "A toy.", {
      part: value(1, part, "its part"),
      notes: value(2, map(string), "notes"),
      made: pointer(3, moment, "when"),
    });
    assert.deepEqual(folded(openApiV2, [rootOf(toy, false)]), {
      "api.toys.v1.Part": {
        description: "A part.",
        type: "object",
        required: ["size"],
        properties: { size: { description: "how big", $ref: "#/definitions/time.Amount" } },
      },
      "api.toys.v1.Toy": {
        description: "A toy.",
        type: "object",
        properties: {
          made: { description: "when", $ref: "#/definitions/time.Moment" },
          notes: { description: "notes", type: "object", additionalProperties: { type: "string" } },
          part: { description: "its part", $ref: "#/definitions/api.toys.v1.Part" },
        },
      },
      "time.Amount": { description: "how much", type: "string" },
      "time.Moment": { description: "a point in time", type: "string", format: "date-time" },
    });
  });
});
