/** Downloads of OpenAPI documents from servers over HTTP. */
import assert from "node:assert/strict";
import {
  aggregation,
  apiServiceOn,
  json,
  silence,
  status,
  TestBackend,
  until,
} from "../testing.ts";
import { OpenApiV2Specs } from "./openapi-v2.ts";
import { OpenApiV3Roots } from "./openapi-v3.ts";

const second = 1_000;
const minute = 60_000;

const swagger = {
  swagger: "2.0",
  paths: {
    "/apis/a.com/v1/widgets/{name}": {
      parameters: [{ name: "name", in: "path", required: true, type: "string" }],
      put: {
        consumes: ["application/json"],
        produces: ["application/json"],
        parameters: [{ name: "body", in: "body", schema: { $ref: "#/definitions/Widget" } }],
        responses: { 200: { description: "OK", schema: { $ref: "#/definitions/Widget" } } },
      },
    },
  },
  definitions: { Widget: { type: "object", description: "A widget." } },
};

describe("OpenAPI documents of other servers", () => {
  let test: ReturnType<typeof aggregation>;
  let backend: TestBackend;
  let v2: OpenApiV2Specs;
  let v3: OpenApiV3Roots;
  let running: Promise<unknown>;

  beforeEach(async () => {
    backend = new TestBackend();
    await backend.listen();
    test = aggregation();
    v2 = new OpenApiV2Specs(test);
    v3 = new OpenApiV3Roots(test);
    running = Promise.all([v2.run(), v3.run()]);
  });
  afterEach(async () => {
    backend.close();
    test.stop();
    await running;
  });

  const store = (groupVersion = "a.com/v1", port = backend.port) => {
    test.store(apiServiceOn(groupVersion, port));
    test.clock.advance(second);
  };

  it("are downloaded a second after the APIService is created, then every minute by entity tag", async () => {
    backend.responses.set("/openapi/v2", json(swagger, { etag: '"1"' }));
    test.store(apiServiceOn("a.com/v1", backend.port));
    assert.deepEqual(v2.current, []);
    test.clock.advance(second);
    await until(() => v2.current.length === 1);
    const before = v2.current;
    backend.responses.set("/openapi/v2", status(304));
    test.clock.advance(minute);
    await until(() => backend.requests.includes('/openapi/v2 "1"'));
    assert.equal(v2.current, before);
    assert.deepEqual([...new Set(backend.users)], ["system:aggregator"]);
    test.remove(apiServiceOn("a.com/v1", backend.port));
    assert.deepEqual(v2.current, []);
  });

  it("are retained while the server fails", async () => {
    backend.responses.set("/openapi/v2", json(swagger));
    store();
    await until(() => v2.current.length === 1);
    const before = v2.current;
    backend.responses.set("/openapi/v2", status(500));
    test.store(apiServiceOn("a.com/v1", backend.port, { insecureSkipTLSVerify: true }));
    test.clock.advance(second);
    await until(() =>
      test.reports.some((report) => report.includes("the server responded with status 500")),
    );
    assert.equal(v2.current, before);
  });

  it("are listed by group version, with URLs of this server", async () => {
    const address = (path: string) => ({ serverRelativeURL: path });
    const paths = {
      "apis/a.com/v1": address("/api/v1/secrets?hash=A1"),
      "apis/a.com": address("/openapi/v3/apis/a.com?hash=<script>"),
      "apis/apps/v1": address("/openapi/v3/apis/apps/v1?hash=A2"),
      version: address("/openapi/v3/version?hash=A3"),
    };
    backend.responses.set("/openapi/v3", json({ paths }));
    store();
    await until(() => v3.current.size > 0);
    const hashes = [...v3.current].map(([name, { hash }]) => [name, hash]);
    assert.deepEqual(hashes, [
      ["apis/a.com/v1", "A1"],
      ["apis/a.com", ""],
    ]);
  });

  it("are converted from Swagger 2.0 for a server without OpenAPI 3", async () => {
    backend.responses.set("/openapi/v2", json(swagger));
    store();
    await until(() => v3.current.size > 0);
    const { converted, hash } = v3.current.get("apis/a.com/v1")!;
    assert.match(hash, /^[0-9A-F]{128}$/);
    const reference = { schema: { $ref: "#/components/schemas/Widget" } };
    const content = { "application/json": reference };
    assert.deepEqual(JSON.parse(converted!.toString()), {
      openapi: "3.0.0",
      info: { title: "Kubernetes", version: "unversioned" },
      paths: {
        "/apis/a.com/v1/widgets/{name}": {
          parameters: [{ name: "name", in: "path", required: true, schema: { type: "string" } }],
          put: {
            requestBody: { content },
            responses: { 200: { description: "OK", content } },
          },
        },
      },
      components: { schemas: { Widget: { type: "object", description: "A widget." } } },
    });
  });

  it("are rejected when endless or deeply nested, without delaying other servers", async () => {
    const [endless, deep, slow] = [new TestBackend(), new TestBackend(), new TestBackend()];
    for (const each of [endless, deep, slow]) await each.listen();
    endless.responses.set("/openapi/v2", (response) => {
      const chunk = Buffer.alloc(1024 * 1024, " ");
      const more = () => void response.write(chunk, (error) => error ?? more());
      more();
    });
    deep.responses.set("/openapi/v2", json(`{"swagger":"2.0","paths":${"[".repeat(1_000_000)}`));
    slow.responses.set("/openapi/v2", silence);
    backend.responses.set("/openapi/v2", json(swagger));
    store("endless.com/v1", endless.port);
    store("deep.com/v1", deep.port);
    store("slow.com/v1", slow.port);
    store();
    await until(() => v2.current.length === 1);
    const reported = (text: string) => test.reports.some((report) => report.includes(text));
    await until(() => reported("larger than") && reported("nested deeper"));
    for (const each of [endless, deep, slow]) each.close();
  });
});
