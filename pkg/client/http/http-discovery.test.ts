import assert from "node:assert/strict";
import { domainOf } from "#meta";
import { HttpDiscovery } from "./http-discovery.ts";
import type { HttpResponse } from "./transport.ts";

type Documents = Readonly<Record<string, object | undefined>>;

/** What is found in these documents: `apps/v1 deployments Deployment get,list`. */
async function found(documents: Documents): Promise<{ all: string[]; failures: string[] }> {
  const discovery = new HttpDiscovery(domainOf(), ({ path }) => {
    const document = documents[path];
    if (document === undefined) return Promise.reject(new Error("unavailable"));
    return Promise.resolve({ response: {} as HttpResponse, text: JSON.stringify(document) });
  });
  const { resources, failures } = await discovery.read();
  const all = resources.map(({ group, version, plural, kind, namespaced, verbs }) =>
    [`${group}/${version}`, plural, kind, namespaced ? "namespaced" : "cluster", verbs].join(" "),
  );
  return { all, failures: [...failures].map(([name, why]) => `${name}: ${why}`) };
}

const verbs = ["get", "list"];

describe("discovery", () => {
  it("reads all resources from two documents, and lists stale group versions as failures", async () => {
    const kind = "APIGroupDiscoveryList";
    const resource = (plural: string, scope: string, kindOf: string) => ({
      resource: plural,
      scope,
      verbs,
      responseKind: { kind: kindOf },
      subresources: [{ subresource: "status" }],
    });
    const core = { version: "v1", resources: [resource("pods", "Namespaced", "Pod")] };
    const apps = { version: "v1", resources: [resource("scales", "Cluster", "Scale")] };
    const stale = { version: "v1beta1", freshness: "Stale" };
    const { all, failures } = await found({
      "/api": { kind, items: [{ metadata: {}, versions: [core] }] },
      "/apis": {
        kind,
        items: [
          { metadata: { name: "apps" }, versions: [apps] },
          { metadata: { name: "metrics.k8s.io" }, versions: [stale] },
        ],
      },
    });
    assert.deepEqual(all, [
      "/v1 pods Pod namespaced get,list",
      "apps/v1 scales Scale cluster get,list",
    ]);
    assert.deepEqual(failures, [
      "metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1",
    ]);
  });

  it("falls back to one document per group version, and skips those that fail", async () => {
    const pods = { name: "pods", namespaced: true, kind: "Pod", verbs };
    const { all, failures } = await found({
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/api/v1": { resources: [pods, { ...pods, name: "pods/log" }] },
      "/apis": {
        kind: "APIGroupList",
        groups: [
          { name: "apps", versions: [{ version: "v1" }] },
          { name: "metrics.k8s.io", versions: [{ version: "v1beta1" }] },
        ],
      },
      "/apis/apps/v1": { resources: [{ ...pods, name: "sets", kind: "Set", namespaced: false }] },
    });
    assert.deepEqual(all, [
      "/v1 pods Pod namespaced get,list",
      "apps/v1 sets Set cluster get,list",
    ]);
    assert.deepEqual(failures, ["metrics.k8s.io/v1beta1: unavailable"]);
  });
});
