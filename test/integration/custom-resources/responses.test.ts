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

  function send(method: string, path: string, body?: object, accept = "*/*"): Promise<Response> {
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
});
