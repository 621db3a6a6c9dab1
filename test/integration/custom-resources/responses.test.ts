/** Responses about custom resources, as kube-apiserver 1.34 gives them. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/example.com/v1/namespaces/default/widgets";
const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } };

const definition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};

describe("responses about custom resources", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
    assert.equal((await send("POST", definitions, definition)).status, 201);
    const deadline = Date.now() + 30_000;
    while ((await send("POST", widgets, widget)).status !== 201) {
      assert.ok(Date.now() < deadline, "the definition is not served");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  after(() => server.close());

  function send(
    method: string,
    path: string,
    body?: object | undefined,
    accept = "*/*",
  ): Promise<Response> {
    const headers = { accept, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return server.fetch(path, { method, headers, ...sent });
  }

  it("names kind and apiVersion of every item of a list in YAML", async () => {
    const text = await (await send("GET", widgets, undefined, "application/yaml")).text();
    const [head, tail] = text.split(/\n {2}metadata:\n[^]*\nkind: /);
    assert.equal(
      head,
      "apiVersion: example.com/v1\nitems:\n- apiVersion: example.com/v1\n  kind: Widget",
    );
    assert.match(tail!, /^WidgetList\nmetadata:\n {2}continue: ""\n {2}resourceVersion: "\d+"\n$/);
  });

  /** Title; method, path, body, Accept; code and message. */
  const refusals: readonly [
    string,
    [string, string, (object | undefined)?, string?],
    number,
    string,
  ][] = [
    [
      "requires a name in an update before it looks at the kind",
      ["PUT", `${widgets}/a`, { ...widget, kind: "Other", metadata: {} }],
      400,
      "the name of the object (a based on URL) was undeterminable: name must be provided",
    ],
    [
      "rejects another kind in an update of the right name",
      ["PUT", `${widgets}/a`, { ...widget, kind: "Other" }],
      422,
      'Other.example.com "a" is invalid: kind: Invalid value: "Other": must be Widget',
    ],
    [
      "names the Go value of metadata of the wrong type",
      ["POST", widgets, { ...widget, metadata: 5 }],
      400,
      'Widget in version "v1" cannot be handled as a Widget: ' +
        "json: cannot unmarshal number into Go value of type v1.ObjectMeta",
    ],
    [
      "answers 500 to a request for one object as a list",
      [
        "GET",
        `${widgets}/a`,
        undefined,
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
      ],
      500,
      "content is not a list",
    ],
  ];
  for (const [title, [method, path, body, accept], code, message] of refusals) {
    it(title, async () => {
      const response = await send(method, path, body, accept);
      const status = (await response.json()) as { message: string };
      assert.deepEqual([response.status, status.message], [code, message]);
    });
  }

  it("reads a large object as it is stored, and with the defaults of a changed schema", async () => {
    const open = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, "<value>"]));
    const large = { ...widget, metadata: { name: "large" }, spec: { open } };
    const made = await (await send("POST", widgets, large)).json();
    const read = async (): Promise<any> => (await send("GET", `${widgets}/large`)).json();
    for (let round = 0; round < 2; round++) assert.deepEqual(await read(), made);
    const [version] = definition.spec.versions;
    const unknown = { "x-kubernetes-preserve-unknown-fields": true };
    const size = { type: "integer", default: 1 };
    const spec = { type: "object", ...unknown, properties: { size } };
    const openAPIV3Schema = { type: "object", ...unknown, properties: { spec } };
    const changed = { ...version, schema: { openAPIV3Schema } };
    const stored = (await (await send("GET", `${definitions}/widgets.example.com`)).json()) as any;
    stored.spec.versions = [changed];
    assert.equal((await send("PUT", `${definitions}/widgets.example.com`, stored)).status, 200);
    const deadline = Date.now() + 30_000;
    while ((await read()).spec.size !== 1) {
      assert.ok(Date.now() < deadline, "the changed definition is not served");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const withDefault = { ...(made as any), spec: { open, size: 1 } };
    for (let round = 0; round < 2; round++) assert.deepEqual(await read(), withDefault);
  });
});
