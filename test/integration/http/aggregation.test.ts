/** Group versions of APIServices with a Service: not proxied, so unavailable. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";

describe("APIService with a Service", () => {
  let server: RunningServer;
  before(async () => void (server = await startServer({ controllers: false })));
  after(() => server.close());

  const apiService = (group: string, spec: object) => ({
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}` },
    spec: { group, version: "v1", groupPriorityMinimum: 10, versionPriority: 10, ...spec },
  });

  async function send(method: string, path: string, body?: object): Promise<Response> {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    return server.fetch(path, { method, ...init });
  }

  async function becomes(path: string, status: number): Promise<void> {
    while ((await send("GET", path)).status !== status) await delay(5);
  }

  it("answers 503 for its group version while it is stored", async () => {
    const service = { namespace: "default", name: "other" };
    const remote = apiService("example.com", { service, insecureSkipTLSVerify: true });
    assert.equal((await send("POST", services, remote)).status, 201);
    await becomes("/apis/example.com/v1", 503);
    for (const [method, path] of [
      ["GET", "/apis/example.com/v1"],
      ["GET", "/apis/example.com/v1/widgets"],
      ["POST", "/apis/example.com/v1/namespaces/default/widgets"],
      ["DELETE", "/apis/example.com/v1/namespaces/default/widgets/a"],
      ["GET", "/apis/example.com/v1/namespaces/default/widgets?watch=true"],
    ] as const) {
      const response = await send(method, path, method === "POST" ? {} : undefined);
      assert.equal(response.status, 503, path);
      assert.equal(await response.text(), "service unavailable\n");
      assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
    }
    for (const path of ["/apis/example.com/v2", "/apis/other.example.com/v1"]) {
      assert.equal((await send("GET", path)).status, 404, path);
    }
    assert.equal((await send("GET", "/apis/apps/v1")).status, 200);
    const remove = await send("DELETE", `${services}/v1.example.com`);
    assert.equal(remove.status, 200);
    await becomes("/apis/example.com/v1", 404);
  });

  it("is served locally without spec.service", async () => {
    assert.equal((await send("POST", services, apiService("local.com", {}))).status, 201);
    await delay(50);
    assert.equal((await send("GET", "/apis/local.com/v1")).status, 404);
  });
});
