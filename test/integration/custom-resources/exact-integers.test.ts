/** An int64 beyond 2^53 keeps its digits on every path from and to clients. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const group = "digits.example.com";
const base = `/apis/${group}/v1`;
const json = "application/json";
const yaml = "application/yaml";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const yamlTable = "application/yaml;as=Table;v=v1;g=meta.k8s.io";
const swaggerProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const openApiProtobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

/** The definition of a kind whose defaults, enums and rules hold `digits`. */
function definition(kind: string, digits: string): string {
  const plural = `${kind.toLowerCase()}s`;
  const integer = `{"type":"integer","format":"int64"}`;
  const key = `{"type":"object","required":["key"],"properties":{"key":${integer}}}`;
  return `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",
    "metadata":{"name":"${plural}.${group}"},
    "spec":{"group":"${group}","scope":"Cluster","names":{"plural":"${plural}","kind":"${kind}"},
    "versions":[{"name":"v1","served":true,"storage":true,
      "selectableFields":[{"jsonPath":".n"}],
      "additionalPrinterColumns":[{"name":"N","type":"integer","jsonPath":".n"},
        {"name":"Any","type":"string","jsonPath":".any"}],
      "schema":{"openAPIV3Schema":{"type":"object",
        "x-kubernetes-validations":[{"rule":"self.n > 0 || self.n < 0","message":"not zero"},
          {"rule":"!has(self.wrong) || self.wrong != ${digits}","message":"is wrong"}],
        "properties":{
          "n":{"type":"integer","format":"int64","default":${digits}},
          "one":{"type":"integer","format":"int64","enum":[${digits}]},
          "wrong":${integer},
          "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
          "values":{"type":"array","x-kubernetes-list-type":"set","items":${integer}},
          "keyed":{"type":"array","x-kubernetes-list-type":"map",
            "x-kubernetes-list-map-keys":["key"],"items":${key}}}}}}]}}`;
}

function objectText(kind: string, name: string, rest: string): string {
  return `{"kind":"${kind}","apiVersion":"${group}/v1","metadata":{"name":"${name}"},${rest}}`;
}

describe("an int64 beyond 2^53", function () {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  interface Call {
    readonly path: string;
    readonly method?: string;
    readonly body?: string;
    readonly type?: string;
    readonly accept?: string;
  }

  async function call({ path, method, body, type = json, accept = json }: Call) {
    const headers = { accept, "content-type": type };
    const verb = method ?? (body === undefined ? "GET" : "POST");
    const response = await server.fetch(path, { method: verb, headers, ...(body && { body }) });
    return { code: response.status, text: await response.text() };
  }

  async function firstLine(path: string, accept: string): Promise<string> {
    const abort = new AbortController();
    const response = await server.fetch(path, { headers: { accept }, signal: abort.signal });
    let text = "";
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes("\n")) break;
    }
    abort.abort();
    return text;
  }

  /** Asserts that a text has the digits, and no number that a double makes of them. */
  function assertExact(text: string, digits: string, what: string): void {
    assert.ok(text.includes(digits), `${what}: ${text.slice(0, 2_000)}`);
    const rounded = [String(Number(digits)), String(BigInt(Number(digits)))];
    for (const wrong of rounded) assert.ok(!text.includes(wrong), `${what} has ${wrong}`);
  }

  for (const [kind, digits] of [
    ["Odd", "9007199254740993"],
    ["Largest", "9223372036854775807"],
    ["Smallest", "-9223372036854775807"],
  ] as const) {
    describe(digits, () => {
      const objects = `${base}/${kind.toLowerCase()}s`;
      before(async () => {
        const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        const created = await call({ path, body: definition(kind, digits) });
        assert.equal(created.code, 201, created.text);
        assertExact(created.text, digits, "the definition");
        const body = objectText(kind, "a", `"any":{"b":${digits}}`);
        const deadline = Date.now() + 30_000;
        for (;;) {
          const { code, text } = await call({ path: objects, body });
          if (code === 201) return assertExact(text, digits, "the created object");
          assert.ok(Date.now() < deadline, text);
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      });

      for (const [what, path, accept] of [
        ["an object", `${objects}/a`, json],
        ["an object in YAML", `${objects}/a`, yaml],
        ["a table", objects, table],
        ["a table of one", `${objects}/a`, table],
        ["a table in YAML", objects, yamlTable],
        ["a table of one in YAML", `${objects}/a`, yamlTable],
        ["a list", objects, json],
        ["a list in YAML", objects, yaml],
        ["a field selector", `${objects}?fieldSelector=n%3D${digits}`, json],
        ["OpenAPI 2", "/openapi/v2", json],
        ["OpenAPI 2 in Protobuf", "/openapi/v2", swaggerProtobuf],
        ["OpenAPI 3", `/openapi/v3${base}`, json],
        ["OpenAPI 3 in Protobuf", `/openapi/v3${base}`, openApiProtobuf],
      ] as const) {
        it(`is exact in ${what}`, async () => {
          const { code, text } = await call({ path, accept });
          assert.equal(code, 200, text);
          assertExact(text, digits, what);
        });
      }

      it("is exact in watch events", async () => {
        for (const accept of [json, table]) {
          assertExact(await firstLine(`${objects}?watch=true`, accept), digits, accept);
        }
      });

      it("is exact in patches", async () => {
        const path = `${objects}/a`;
        const merge = `{"any":{"c":${digits}}}`;
        const operations = `[{"op":"test","path":"/n","value":${digits}},
          {"op":"add","path":"/any/d","value":${digits}}]`;
        for (const [type, body] of [
          ["application/merge-patch+json", merge],
          ["application/json-patch+json", operations],
        ] as const) {
          const { code, text } = await call({ path, method: "PATCH", body, type });
          assert.equal(code, 200, text);
          assertExact(text, digits, type);
        }
        const neighbour = BigInt(digits) - 1n;
        const refused = `[{"op":"test","path":"/n","value":${neighbour}}]`;
        const type = "application/json-patch+json";
        const { code, text } = await call({ path, method: "PATCH", body: refused, type });
        assert.equal(code, 422, text);
      });

      it("is exact in keys of managed fields, beside its neighbour", async () => {
        const keys = [digits, String(BigInt(digits) - 1n)];
        const keyed = keys.map((key) => `{"key":${key}}`).join(",");
        const body = objectText(kind, "keyed", `"keyed":[${keyed}],"values":[${keys.join()}]`);
        const path = `${objects}/keyed?fieldManager=one`;
        const type = "application/apply-patch+yaml";
        const created = await call({ path, method: "PATCH", body, type });
        assert.equal(created.code, 201, created.text);
        for (const key of keys) {
          assert.ok(created.text.includes(`"k:{\\"key\\":${key}}"`), created.text);
          assert.ok(created.text.includes(`"v:${key}"`), created.text);
        }
        const again = await call({ path, method: "PATCH", body, type });
        assert.equal(
          JSON.parse(again.text).metadata.generation,
          1,
          "the second apply is no change",
        );
      });

      it("is exact in messages", async () => {
        const of = (rest: string) => objectText(kind, "x", rest);
        const neighbour = String(BigInt(digits) - 1n);
        const supported = await call({ path: objects, body: of(`"one":${neighbour}`) });
        assert.equal(supported.code, 422);
        assert.ok(supported.text.includes(`supported values: \\"${digits}\\"`), supported.text);
        assert.ok(supported.text.includes(neighbour), supported.text);
        const ruled = await call({ path: objects, body: of(`"wrong":${digits}`) });
        assert.equal(ruled.code, 422, ruled.text);
        assert.match(ruled.text, /is wrong/);
        const accepted = await call({ path: objects, body: of(`"wrong":${neighbour}`) });
        assert.equal(accepted.code, 201, accepted.text);
      });
    });
  }

  it("is exact in columns and messages of built-in kinds", async () => {
    const digits = "9007199254740993";
    const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    const revision = `{"metadata":{"name":"a"},"revision":${digits},"data":{"a":${digits}}}`;
    assert.equal((await call({ path: revisions, body: revision })).code, 201);
    assertExact((await call({ path: revisions, accept: table })).text, digits, "a column");
    for (const accept of [json, yaml]) {
      assertExact((await call({ path: `${revisions}/a`, accept })).text, digits, accept);
    }
    const volume = `{"metadata":{"name":"v"},"spec":{"capacity":{"storage":"-${digits}"},
      "accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`;
    const refused = await call({ path: "/api/v1/persistentvolumes", body: volume });
    assert.ok(refused.text.includes(`Invalid value: -${digits}`), refused.text);
  });
});
