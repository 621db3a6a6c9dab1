/** APIServices without their Service, and those that the server maintains. */
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

  it("responds 503 for its group version while its Service does not exist", async () => {
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

describe("APIServices that the server maintains", () => {
  let server: RunningServer;
  before(async () => void (server = await startServer({ controllers: false })));
  after(() => server.close());

  const named = (name: string) => `${services}/${name}`;
  const conditionOf = ({ status }: any) => {
    const { type, status: value, reason, message } = status?.conditions?.[0] ?? {};
    return { type, value, reason, message };
  };
  const local = {
    type: "Available",
    value: "True",
    reason: "Local",
    message: "Local APIServices are always available",
  };

  async function send(method: string, path: string, body?: object): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await server.fetch(path, {
      method,
      headers: { "content-type": type },
      ...init,
    });
    return response.json();
  }

  /** The object at the path, once it satisfies the condition. */
  async function until(path: string, isWanted: (object: any) => boolean): Promise<any> {
    for (;;) {
      const object = await send("GET", path);
      if (isWanted(object)) return object;
      await delay(5);
    }
  }

  const definition = (versions: readonly string[]) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "plants.garden.example.com" },
    spec: {
      group: "garden.example.com",
      scope: "Namespaced",
      names: { plural: "plants", kind: "Plant" },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: "object" } },
      })),
    },
  });
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

  it("follow the served versions of definitions", async () => {
    await send("POST", definitions, definition(["v1", "v2"]));
    for (const version of ["v1", "v2"]) {
      const path = named(`${version}.garden.example.com`);
      const made = await until(path, ({ kind }) => kind === "APIService");
      assert.deepEqual(made.metadata.labels, {
        "kube-aggregator.kubernetes.io/automanaged": "true",
      });
      assert.deepEqual(made.spec, {
        group: "garden.example.com",
        version,
        groupPriorityMinimum: 1000,
        versionPriority: 100,
      });
      assert.deepEqual(conditionOf(made), local);
    }
    const { uid } = (await send("GET", named("v1.garden.example.com"))).metadata;
    await send("DELETE", named("v1.garden.example.com"));
    await until(
      named("v1.garden.example.com"),
      ({ metadata }) => metadata?.uid && metadata.uid !== uid,
    );
    await send("PATCH", named("v2.garden.example.com"), { spec: { versionPriority: 7 } });
    await until(named("v2.garden.example.com"), ({ spec }) => spec.versionPriority === 100);
    await send("DELETE", `${definitions}/plants.garden.example.com`);
    for (const version of ["v1", "v2"]) {
      await until(named(`${version}.garden.example.com`), ({ code }) => code === 404);
    }
  });

  it("are not updated without the automanaged label", async () => {
    const name = "v1.garden.example.com";
    await send("POST", definitions, definition(["v1"]));
    await until(named(name), ({ kind }) => kind === "APIService");
    const label = "kube-aggregator.kubernetes.io/automanaged";
    await send("PATCH", named(name), {
      metadata: { labels: { [label]: null } },
      spec: { versionPriority: 7 },
    });
    await send("DELETE", `${definitions}/plants.garden.example.com`);
    await until(`${definitions}/plants.garden.example.com`, ({ code }) => code === 404);
    assert.equal((await send("GET", named(name))).spec.versionPriority, 7);
  });

  it("update their condition with their Service", async () => {
    const name = "v1.moved.example.com";
    const service = { namespace: "default", name: "far" };
    const spec = { group: "moved.example.com", version: "v1", groupPriorityMinimum: 1 };
    await send("POST", services, {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name },
      spec: { ...spec, versionPriority: 1, service, insecureSkipTLSVerify: true },
    });
    const absent = await until(named(name), ({ status }) => status.conditions !== undefined);
    assert.deepEqual(conditionOf(absent), {
      type: "Available",
      value: "False",
      reason: "ServiceNotFound",
      message: 'service/far in "default" is not present',
    });
    await send("POST", "/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: service,
      spec: { ports: [{ name: "https", port: 443 }] },
    });
    const reason = (wanted: string) => (object: any) => conditionOf(object).reason === wanted;
    await until(named(name), reason("EndpointsNotFound"));
    await send("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "far-1", labels: { "kubernetes.io/service-name": "far" } },
      addressType: "IPv4",
      ports: [{ name: "https", port: 8443 }],
      endpoints: [],
    });
    await until(named(name), reason("MissingEndpoints"));
    await send("PATCH", named(name), { spec: { service: { port: 444 } } });
    await until(named(name), reason("ServicePortError"));
    await send("PATCH", named(name), { spec: { service: null, insecureSkipTLSVerify: null } });
    assert.deepEqual(conditionOf(await until(named(name), reason("Local"))), local);
  });
});
