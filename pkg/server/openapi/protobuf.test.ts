import assert from "node:assert/strict";
import protobuf from "protobufjs";
import { encodeMessage } from "./protobuf.ts";
import { openApiResponse } from "./openapi.ts";
import { documentV2, documentV3 } from "./shapes.ts";
import { toyCatalog } from "../discovery/toy-catalog.ts";

/** The fields of gnostic's messages that these tests decode. */
const root = protobuf.parse(
  `syntax = "proto3";
  message V2 { string swagger = 1; Paths2 paths = 8; Definitions definitions = 9; }
  message Paths2 { repeated NamedPath2 path = 2; }
  message NamedPath2 { string name = 1; Path2 value = 2; }
  message Path2 { Operation2 get = 2; repeated ParameterItem parameters = 9; }
  message Operation2 { repeated string tags = 1; string operation_id = 5;
    repeated ParameterItem parameters = 8; repeated NamedAny vendor_extension = 13; }
  message ParameterItem { Parameter parameter = 1; }
  message Parameter { Located body_parameter = 1; Other non_body_parameter = 2; }
  message Other { Located query = 3; Located path = 4; }
  message Located { string a = 1; string name = 4; string path_type = 5; string query_type = 6; }
  message Definitions { repeated NamedSchema2 additional_properties = 1; }
  message NamedSchema2 { string name = 1; Schema2 value = 2; }
  message Schema2 { string _ref = 1; string format = 2; repeated string required = 19;
    repeated Any enum = 20; Additional additional_properties = 21; Strings type = 22; }
  message Additional { Schema2 schema = 1; bool boolean = 2; }
  message Strings { repeated string value = 1; }
  message Any { string yaml = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message V3 { string openapi = 1; Components components = 5; }
  message Components { Schemas schemas = 1; }
  message Schemas { repeated NamedSchema3 additional_properties = 1; }
  message NamedSchema3 { string name = 1; SchemaOrReference value = 2; }
  message SchemaOrReference { Schema3 schema = 1; Reference reference = 2; }
  message Reference { string _ref = 1; }
  message Schema3 { double maximum = 11; int64 max_length = 15; string type = 25;
    repeated SchemaOrReference all_of = 26; Items items = 30; Default default = 33; }
  message Items { repeated SchemaOrReference schema_or_reference = 1; }
  message Default { oneof o { double number = 1; bool boolean = 2; string string = 3; } }`,
  { keepCase: true },
).root;

function decode(type: string, bytes: Uint8Array): any {
  return root.lookupType(type).decode(bytes).toJSON();
}

describe("OpenAPI as Protobuf", () => {
  it("encodes Swagger schemas, references, enums and additionalProperties like gnostic", () => {
    const document = {
      swagger: "2.0",
      definitions: {
        A: { $ref: "#/definitions/B" },
        B: { type: "string", format: "byte", required: ["x", "y"], enum: ["p", 1] },
        C: { additionalProperties: { type: "string" } },
        D: { additionalProperties: true },
      },
    };
    const { definitions } = decode("V2", encodeMessage(documentV2, document));
    assert.deepEqual(definitions.additional_properties, [
      { name: "A", value: { _ref: "#/definitions/B" } },
      {
        name: "B",
        value: {
          type: { value: ["string"] },
          format: "byte",
          required: ["x", "y"],
          enum: [{ yaml: '"p"\n' }, { yaml: "1\n" }],
        },
      },
      { name: "C", value: { additional_properties: { schema: { type: { value: ["string"] } } } } },
      { name: "D", value: { additional_properties: { boolean: true } } },
    ]);
  });

  it("encodes OpenAPI 3 references, numbers and defaults, and omits unknown fields", () => {
    const schemas = {
      A: { allOf: [{ $ref: "#/x" }], default: {} },
      B: { type: "integer", maximum: 2.5, maxLength: 300, default: 0, unknown: 1 },
      C: { items: { type: "string", default: "" } },
    };
    const document = { openapi: "3.0.0", components: { schemas } };
    const { components } = decode("V3", encodeMessage(documentV3, document));
    assert.deepEqual(components.schemas.additional_properties, [
      { name: "A", value: { schema: { all_of: [{ reference: { _ref: "#/x" } }] } } },
      {
        name: "B",
        value: {
          schema: { type: "integer", maximum: 2.5, max_length: "300", default: { number: 0 } },
        },
      },
      {
        name: "C",
        value: {
          schema: {
            items: {
              schema_or_reference: [{ schema: { type: "string", default: { string: "" } } }],
            },
          },
        },
      },
    ]);
  });

  const prefix = "application/com.github.proto-openapi.spec.v2";
  for (const accept of [`${prefix}@v1.0+protobuf`, `${prefix}.v1.0+protobuf`]) {
    it(`is served for ${accept}, with path and query parameters`, async () => {
      const headers = { accept };
      const none = new URLSearchParams();
      const view = {
        catalog: toyCatalog(),
        remoteSpecs: [],
        remoteDocuments: new Map(),
        reportFault: assert.fail,
      };
      const response = await openApiResponse(view, "/openapi/v2", none, headers);
      assert.equal(response?.headers["content-type"], `${prefix}.v1.0+protobuf`);
      const { paths } = decode("V2", Buffer.concat(response.body));
      const { value } = paths.path.find((item: any) => item.name === "/api/v1/boxes/{name}");
      const [name, pretty] = value.parameters.map((p: any) => p.parameter.non_body_parameter);
      assert.deepEqual([name.path.name, name.path.path_type], ["name", "string"]);
      assert.deepEqual([pretty.query.name, pretty.query.query_type], ["pretty", "string"]);
      assert.equal(value.get.operation_id, "readCoreV1Box");
      assert.deepEqual(value.get.vendor_extension[0], {
        name: "x-kubernetes-action",
        value: { yaml: '"get"\n' },
      });
    });
  }
});
