/** A server with another API domain serves clients that have `k8s.io` compiled in, such as kubectl. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const domain = "api.example.com";
const namespaces = "/api/v1/namespaces";

describe("a server with another API domain", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false, apiDomain: domain });
  });
  after(() => server.close());

  async function read(path: string, accept: string) {
    const response = await server.fetch(path, { headers: { accept } });
    return { response, text: await response.text() };
  }

  for (const group of ["meta.k8s.io", `meta.${domain}`]) {
    describe(`asked for the group ${group}`, () => {
      const form = (kind: string) => `application/json;as=${kind};v=v1;g=${group}`;

      for (const path of [namespaces, `${namespaces}/default`]) {
        it(`prints ${path} as a table`, async () => {
          const { text } = await read(path, `${form("Table")},application/json`);
          const { kind, apiVersion, rows } = JSON.parse(text);
          assert.deepEqual([kind, apiVersion], ["Table", `${group}/v1`]);
          assert.equal(rows[0].object.apiVersion, `${group}/v1`);
        });
      }

      for (const [path, kind] of [
        [namespaces, "PartialObjectMetadataList"],
        [`${namespaces}/default`, "PartialObjectMetadata"],
      ] as const) {
        it(`prints ${path} as ${kind} in each format`, async () => {
          const { text } = await read(path, form(kind));
          assert.equal(JSON.parse(text).apiVersion, `${group}/v1`);
          const yaml = await read(path, form(kind).replace("json", "yaml"));
          assert.ok(yaml.text.startsWith(`apiVersion: ${group}/v1\n`), yaml.text);
          const media = form(kind).replace("json", "vnd.kubernetes.protobuf");
          const protobuf = await read(path, media);
          assert.ok(protobuf.text.includes(`${group}/v1`));
        });
      }

      for (const kind of ["Table", "PartialObjectMetadata"]) {
        it(`prints watch events as ${kind}`, async () => {
          const abort = new AbortController();
          const path = `${namespaces}?watch=true`;
          const headers = { accept: form(kind) };
          const { body } = await server.fetch(path, { headers, signal: abort.signal });
          let text = "";
          for await (const chunk of body!) {
            text += Buffer.from(chunk as Uint8Array).toString();
            if (text.includes("\n")) break;
          }
          abort.abort();
          assert.equal(JSON.parse(text.split("\n")[0]!).object.apiVersion, `${group}/v1`);
        });
      }
    });
  }

  for (const group of ["apidiscovery.k8s.io", `apidiscovery.${domain}`]) {
    it(`serves aggregated discovery of the group ${group}`, async () => {
      const type = `application/json;g=${group};v=v2;as=APIGroupDiscoveryList`;
      const { response, text } = await read("/apis", `${type},application/json`);
      assert.equal(response.headers.get("content-type"), type);
      const { apiVersion, items } = JSON.parse(text);
      assert.equal(apiVersion, `${group}/v2`);
      assert.ok(
        items.some(({ metadata }: any) => metadata.name === `rbac.authorization.${domain}`),
      );
    });
  }

  it("rejects other groups", async () => {
    const { response } = await read(namespaces, "application/json;as=Table;v=v1;g=meta.other.io");
    assert.equal(response.status, 406);
  });
});
