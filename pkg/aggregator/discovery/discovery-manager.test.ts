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
import { DiscoveryManager } from "./discovery-manager.ts";

const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const minute = 60_000;

/** Aggregated discovery of one resource in each group version. */
function aggregated(...groupVersions: readonly string[]): object {
  const items = groupVersions.map((groupVersion) => {
    const [name, version] = groupVersion.split("/");
    return {
      metadata: { name },
      versions: [{ version, resources: [resource], freshness: "Current" }],
    };
  });
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", items };
}

const resource = {
  resource: "widgets",
  responseKind: { group: "", version: "", kind: "Widget" },
  scope: "Namespaced",
  singularResource: "widget",
  verbs: ["get", "list"],
  shortNames: ["wd"],
  subresources: [
    {
      subresource: "status",
      responseKind: { group: "", version: "", kind: "Widget" },
      verbs: ["get"],
    },
  ],
};

/** The same in the older form. */
function resourceList(groupVersion: string): object {
  const { verbs } = resource;
  return {
    kind: "APIResourceList",
    groupVersion,
    resources: [
      {
        name: "widgets",
        singularName: "widget",
        namespaced: true,
        kind: "Widget",
        verbs,
        shortNames: ["wd"],
      },
      {
        name: "widgets/status",
        singularName: "",
        namespaced: true,
        kind: "Widget",
        verbs: ["get"],
      },
    ],
  };
}

describe("DiscoveryManager", () => {
  let test: ReturnType<typeof aggregation>;
  let backend: TestBackend;
  let manager: DiscoveryManager;
  let running: Promise<void>;

  beforeEach(async () => {
    backend = new TestBackend();
    await backend.listen();
    test = aggregation();
    manager = new DiscoveryManager(test);
    running = manager.run();
  });
  afterEach(async () => {
    backend.close();
    test.stop();
    await running;
  });

  const discovered = (groupVersion: string) => manager.current.versions.get(groupVersion)?.remote;
  const freshness = (groupVersion: string) => discovered(groupVersion)?.freshness;
  const current = (groupVersion: string) => until(() => freshness(groupVersion) === "Current");
  const received = (count: number) => until(() => backend.requests.length >= count);

  it("reads aggregated discovery once for all group versions of a server", async () => {
    const type = { "content-type": `${v2}; charset=utf-8` };
    backend.responses.set("/apis", json(aggregated("a.com/v1", "b.com/v1"), type));
    test.store(apiServiceOn("a.com/v1", backend.port));
    test.store(apiServiceOn("b.com/v1", backend.port));
    await current("a.com/v1");
    await current("b.com/v1");
    const want = { version: "v1", resources: [resource], freshness: "Current" };
    assert.deepEqual(discovered("a.com/v1"), want);
    assert.deepEqual(Object.keys(discovered("a.com/v1")!), Object.keys(want));
    assert.deepEqual(backend.requests, ["/apis"]);
    assert.deepEqual(backend.users, ["system:kube-aggregator"]);
  });

  it("fetches again every minute, with the entity tag of the last response", async () => {
    const type = { "content-type": v2, etag: '"1"' };
    backend.responses.set("/apis", json(aggregated("a.com/v1"), type));
    test.store(apiServiceOn("a.com/v1", backend.port));
    await current("a.com/v1");
    const before = manager.current;
    backend.responses.set("/apis", status(304));
    test.clock.advance(minute);
    await received(2);
    assert.deepEqual(backend.requests, ["/apis", '/apis "1"']);
    backend.responses.set("/apis", json(aggregated(), { "content-type": v2, etag: '"2"' }));
    assert.equal(manager.current, before);
    await until(() => {
      test.clock.advance(minute);
      return discovered("a.com/v1")?.resources === undefined;
    });
    assert.notEqual(manager.current, before);
    assert.equal(freshness("a.com/v1"), "Current");
  });

  it("falls back to the APIResourceList of servers without aggregated discovery", async () => {
    backend.responses.set("/apis", json({ kind: "APIGroupList", groups: [] }));
    backend.responses.set("/apis/a.com/v1", json(resourceList("a.com/v1")));
    test.store(apiServiceOn("a.com/v1", backend.port));
    await current("a.com/v1");
    assert.deepEqual(discovered("a.com/v1")?.resources, [resource]);
    assert.deepEqual(backend.requests, ["/apis", "/apis/a.com/v1"]);
  });

  it("marks a version Stale if its server is unavailable, fails, or sends a wrong document", async () => {
    const dead = new TestBackend();
    await dead.listen();
    const { port } = dead;
    dead.close();
    backend.responses.set("/apis/lies.com/v1", json(resourceList("apps/v1")));
    backend.responses.set("/apis/text.com/v1", json("<html>"));
    test.store(apiServiceOn("gone.com/v1", backend.port, { available: false }));
    test.store(apiServiceOn("dead.com/v1", port));
    for (const group of ["lies.com", "text.com"]) {
      test.store(apiServiceOn(`${group}/v1`, backend.port));
    }
    await until(() => test.reports.length === 3);
    for (const group of ["gone.com", "dead.com", "lies.com", "text.com"]) {
      assert.deepEqual(discovered(`${group}/v1`), { version: "v1", freshness: "Stale" });
    }
    assert.ok(!test.reports.some((report) => report.includes("gone.com")));
    assert.ok(test.reports.some((report) => report.includes('not APIResourceList of "apps/v1"')));
  });

  it("rejects endless and deeply nested documents", async () => {
    backend.responses.set("/apis", (response) => {
      response.writeHead(200, { "content-type": v2 });
      const chunk = Buffer.alloc(1024 * 1024, " ");
      const more = () => void response.write(chunk, (error) => error ?? more());
      more();
    });
    const deep = new TestBackend();
    await deep.listen();
    deep.responses.set("/apis", json(`{"items":${"[".repeat(100_000)}`, { "content-type": v2 }));
    test.store(apiServiceOn("endless.com/v1", backend.port));
    test.store(apiServiceOn("deep.com/v1", deep.port));
    await until(() => test.reports.length === 2);
    deep.close();
    const reports = test.reports.sort();
    assert.match(reports[0]!, /deep.com.*nested deeper/);
    assert.match(reports[1]!, /endless.com.*document is larger than/);
  });

  it("is not delayed by servers that do not respond", async () => {
    const slow = new TestBackend();
    await slow.listen();
    slow.responses.set("/apis", silence);
    for (const name of ["a", "b", "c", "d"]) {
      test.store(apiServiceOn(`slow-${name}.com/v1`, slow.port));
    }
    backend.responses.set("/apis", json(aggregated("a.com/v1"), { "content-type": v2 }));
    test.store(apiServiceOn("a.com/v1", backend.port));
    await current("a.com/v1");
    slow.close();
  });

  it("notifies listeners of changes and drops deleted APIServices", async () => {
    backend.responses.set("/apis", json(aggregated("a.com/v1"), { "content-type": v2 }));
    const local = { ...apiServiceOn("local.com/v1", 0) };
    const { service: _service, ...spec } = local.spec;
    test.store({ ...local, spec });
    let changes = 0;
    manager.onChange(() => (changes += 1));
    const apiService = apiServiceOn("a.com/v1", backend.port);
    test.store(apiService);
    await current("a.com/v1");
    assert.equal(changes, 2);
    test.store({ ...apiService, metadata: { ...apiService.metadata, resourceVersion: "2" } });
    assert.equal(changes, 2);
    test.store(apiServiceOn("a.com/v1", backend.port, { versionPriority: 7 }));
    assert.equal(manager.current.versions.get("a.com/v1")?.versionPriority, 7);
    test.remove(apiService);
    assert.deepEqual([...manager.current.versions.keys()], ["local.com/v1"]);
    assert.equal(backend.requests.length, 1);
  });
});
