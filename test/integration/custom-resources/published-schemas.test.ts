import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

const group = "example.com";

describe("published schemas of custom resources", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  /** The OpenAPI v2 definition of the kind, once published. */
  async function shown(plural: string, schema: object): Promise<any> {
    const kind = plural.slice(0, 1).toUpperCase() + plural.slice(1, -1);
    const body = JSON.stringify(customResourceDefinition({ plural, kind }, { group, schema }));
    const headers = { "content-type": "application/json" };
    const address = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const { status } = await server.fetch(address, { method: "POST", headers, body });
    assert.equal(status, 201);
    for (let tries = 0; tries < 2400; tries++) {
      const document: any = await (await server.fetch("/openapi/v2")).json();
      const found = document.definitions[`com.example.v1.${kind}`];
      if (found !== undefined) return { found, all: document.definitions };
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error("it was never published");
  }

  it("have no properties if unknown fields are preserved", async () => {
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    assert.deepEqual((await shown("sacks", schema)).found, {
      type: "object",
      "x-kubernetes-group-version-kind": [{ group, kind: "Sack", version: "v1" }],
    });
  });

  it("describe metadata with the texts that Kubernetes' e2e tests expect", async () => {
    const spec = { type: "object", description: "What it holds." };
    const { found, all } = await shown("boxes", { type: "object", properties: { spec } });
    const { apiVersion, metadata } = found.properties;
    assert.deepEqual(found.properties.spec, spec);
    assert.match(apiVersion.description, /^APIVersion defines /);
    assert.match(metadata.description, /^Standard object's metadata/);
    const meta = all["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].properties;
    assert.match(meta.creationTimestamp.description, /^CreationTimestamp is a timestamp /);
  });
});
