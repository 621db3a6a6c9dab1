/** Aggregated kinds in the discovery, OpenAPI and controllers of the aggregating server. */
import assert from "node:assert/strict";
import { AggregatedKeelson, until } from "./aggregated-keelson.ts";

const widgets = "/apis/example.com/v1/namespaces/default/widgets";

function widget(name: string, metadata: object = {}): object {
  return {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name, ...metadata },
    spec: { size: 3 },
  };
}

describe("aggregated kinds", () => {
  let pair: AggregatedKeelson;
  before(async () => {
    pair = await AggregatedKeelson.start();
    await pair.register();
  });
  after(() => pair.close());

  it("are in discovery", async () => {
    const { groups } = await pair.send("GET", "/apis");
    assert.deepEqual(groups.at(-1), {
      name: "example.com",
      versions: [{ groupVersion: "example.com/v1", version: "v1" }],
      preferredVersion: { groupVersion: "example.com/v1", version: "v1" },
    });
    const { resources } = await pair.send("GET", "/apis/example.com/v1");
    assert.deepEqual(resources[0].shortNames, ["wd"]);
    const { version, resources: aggregated } = await pair.discovered();
    assert.deepEqual([version, aggregated[0].resource], ["v1", "widgets"]);
  });

  it("are in OpenAPI v2, with definitions of both servers shared", async () => {
    let document: any;
    await until(async () => {
      document = await pair.send("GET", "/openapi/v2");
      return document.definitions["com.example.v1.Widget"];
    });
    assert.ok(document.paths["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]);
    const { "x-kubernetes-group-version-kind": kinds } =
      document.definitions["com.example.v1.Widget"];
    assert.deepEqual(kinds, [{ group: "example.com", kind: "Widget", version: "v1" }]);
    const names = Object.keys(document.definitions);
    assert.deepEqual(
      names.filter((name) => name.endsWith("_v2")),
      [],
    );
    const accept = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    const protobuf = await pair.front.fetch("/openapi/v2", { headers: { accept } });
    assert.ok(Buffer.from(await protobuf.arrayBuffer()).includes("com.example.v1.Widget"));
  });

  it("are in OpenAPI v3, whose documents pass through with their entity tags", async () => {
    let address = "";
    await until(async () => {
      const { paths } = await pair.send("GET", "/openapi/v3");
      address = paths["apis/example.com/v1"]?.serverRelativeURL ?? "";
      return address;
    });
    assert.match(address, /^\/openapi\/v3\/apis\/example\.com\/v1\?hash=[0-9A-F]+$/);
    const first = await pair.front.fetch(address);
    const { components } = (await first.json()) as any;
    assert.ok(components.schemas["com.example.v1.Widget"]);
    const etag = first.headers.get("etag") ?? "";
    assert.notEqual(etag, "");
    const again = await pair.front.fetch(address, { headers: { "if-none-match": etag } });
    assert.deepEqual([again.status, await again.text()], [304, ""]);
    const moved = await pair.front.fetch("/openapi/v3/apis/example.com/v1?hash=OLD", {
      redirect: "manual",
    });
    await moved.arrayBuffer();
    assert.deepEqual([moved.status, moved.headers.get("location")], [301, address]);
  });

  it("are garbage collected, as owners and as dependents", async () => {
    const ownerOf = ({ kind, apiVersion, metadata: { name, uid } }: any) => ({
      ownerReferences: [{ kind, apiVersion, name, uid }],
    });
    const configMaps = "/api/v1/namespaces/default/configmaps";
    const configMap = (name: string, metadata: object) => ({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name, ...metadata },
    });
    const owner = await pair.send("POST", widgets, widget("owner"));
    await pair.send("POST", configMaps, configMap("owned", ownerOf(owner)));
    const local = await pair.send("POST", configMaps, configMap("owner", {}));
    await pair.send("POST", widgets, widget("owned", ownerOf(local)));
    assert.equal(await pair.status(`${widgets}/owned`), 200);
    await pair.send("DELETE", `${widgets}/owner`);
    await pair.send("DELETE", `${configMaps}/owner`);
    await until(async () => (await pair.status(`${configMaps}/owned`)) === 404);
    await until(async () => (await pair.status(`${widgets}/owned`)) === 404);
  });

  it("count in quotas", async () => {
    const quotas = "/api/v1/namespaces/default/resourcequotas";
    await pair.send("POST", widgets, widget("counted"));
    await pair.send("POST", quotas, {
      kind: "ResourceQuota",
      apiVersion: "v1",
      metadata: { name: "widgets" },
      spec: { hard: { "count/widgets.example.com": "5" } },
    });
    await until(async () => {
      const { status } = await pair.send("GET", `${quotas}/widgets`);
      return status?.used?.["count/widgets.example.com"] === "1";
    });
    await pair.send("DELETE", `${quotas}/widgets`);
    await pair.send("DELETE", `${widgets}/counted`);
  });

  it("are deleted with their namespace, which waits while their server is unavailable", async () => {
    const place = (name: string) => `/api/v1/namespaces/${name}`;
    for (const name of ["present", "gone"]) await pair.createNamespace(name);
    const inPresent = "/apis/example.com/v1/namespaces/present/widgets";
    await pair.send("POST", inPresent, widget("a"));
    await pair.send("DELETE", place("present"));
    await until(async () => (await pair.status(place("present"))) === 404);
    assert.equal((await pair.send("GET", "/apis/example.com/v1/widgets")).items.length, 0);

    await pair.backend.close({ graceMs: 0 });
    // A change of the APIService makes the server check its availability immediately.
    const apiService = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com";
    const patch = { "content-type": "application/merge-patch+json" };
    const spec = { service: { port: 1 } };
    await pair.send("PATCH", apiService, { spec }, patch);
    await until(async () => (await pair.discovered())?.freshness === "Stale");
    await pair.send("DELETE", place("gone"));
    let condition: any;
    await until(async () => {
      const { status } = await pair.send("GET", place("gone"));
      condition = status.conditions?.find(
        ({ type }: any) => type === "NamespaceDeletionDiscoveryFailure",
      );
      return condition;
    });
    assert.deepEqual([condition.status, condition.reason], ["True", "DiscoveryFailed"]);
    assert.equal(
      condition.message,
      "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of " +
        "server APIs: example.com/v1: stale GroupVersion discovery: example.com/v1",
    );
    const { groups } = await pair.send("GET", "/apis");
    assert.equal(groups.at(-1).name, "example.com");
    await pair.send("DELETE", apiService);
    await until(async () => (await pair.status(place("gone"))) === 404);
    assert.equal(await pair.discovered(), undefined);
  });
});
