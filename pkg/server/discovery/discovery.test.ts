import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type DiscoverySnapshot, noApiServices, type RegisteredVersion } from "#aggregator";
import { apiGroup, apiGroupDiscoveryList, apiGroupList, apiResourceList, apiVersions } from "#api";
import { type Catalog, compareVersions, type Status, StatusError } from "#meta";
import { fromProtobuf, type StructType, toJsonValue, unwrapEnvelope } from "#schema";
import type { DiscoveryView } from "./discovered-groups.ts";
import { discoveryResponse, rootResponse } from "./discovery.ts";
import { lateKind, toyCatalog } from "./toy-catalog.ts";

function viewOf(catalog: Catalog, registered: DiscoverySnapshot = noApiServices): DiscoveryView {
  return { catalog, registered, servesBeta: false };
}

const view = viewOf(toyCatalog());
const allVerbs = "create delete deletecollection get list patch update watch".split(" ");
const aggregatedV2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

function read(path: string, accept?: string, on = view): any {
  const response = discoveryResponse(on, path, accept, undefined);
  if (response === undefined) return undefined;
  return JSON.parse(Buffer.from(response.body).toString());
}

function statusOf(path: string, accept?: string): number | undefined {
  return refusal(path, accept)?.code ?? discoveryResponse(view, path, accept, undefined)?.status;
}

/** The status of the error, or undefined if there is a response. */
function refusal(path: string, accept?: string): Status | undefined {
  try {
    discoveryResponse(view, path, accept, undefined);
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
}

describe("discovery", () => {
  it("lists the core versions without an apiVersion", () => {
    const body = read("/api");
    assert.deepEqual(Object.keys(body), ["kind", "versions", "serverAddressByClientCIDRs"]);
    assert.deepEqual(body.versions, ["v1"]);
    assert.deepEqual(read("/api/"), body);
  });

  it("lists groups with their preferred version first, and never core", () => {
    const entry = {
      name: "toys.k8s.io",
      versions: [
        { groupVersion: "toys.k8s.io/v1", version: "v1" },
        { groupVersion: "toys.k8s.io/v1beta1", version: "v1beta1" },
      ],
      preferredVersion: { groupVersion: "toys.k8s.io/v1", version: "v1" },
    };
    assert.deepEqual(read("/apis"), { kind: "APIGroupList", apiVersion: "v1", groups: [entry] });
    assert.deepEqual(read("/apis/toys.k8s.io"), { kind: "APIGroup", apiVersion: "v1", ...entry });
  });

  it("lists resources and subresources sorted by name, verbs sorted", () => {
    assert.deepEqual(read("/apis/toys.k8s.io/v1"), {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: "toys.k8s.io/v1",
      resources: [
        {
          name: "toys",
          singularName: "toy",
          namespaced: true,
          kind: "Toy",
          verbs: allVerbs,
          shortNames: ["ty"],
          categories: ["all"],
          storageVersionHash: hash("toys.k8s.io/v1/Toy"),
        },
        {
          name: "toys/scale",
          singularName: "",
          namespaced: true,
          group: "sizes",
          version: "v1",
          kind: "Scale",
          verbs: ["get"],
        },
        {
          name: "toys/status",
          singularName: "",
          namespaced: true,
          kind: "Toy",
          verbs: ["get", "patch", "update"],
        },
      ],
    });
  });

  it("has the hash of the storage version in every served version", () => {
    const [beta] = read("/apis/toys.k8s.io/v1beta1").resources;
    assert.equal(beta.storageVersionHash, hash("toys.k8s.io/v1/Toy"));
    const [bonds, boxes] = read("/api/v1").resources;
    assert.equal(bonds.storageVersionHash, undefined);
    assert.equal(boxes.storageVersionHash, hash("/v1/Box"));
  });

  it("is undefined for groups and versions that are not served, and for other paths", () => {
    const unknown = ["/api/v2", "/apis/none", "/apis/none/v1", "/apis/toys.k8s.io/v9", "/apis//v1"];
    const others = ["/apis/toys.k8s.io/v1/toys", "/healthz", "/openapi", "/apis/v1"];
    for (const path of [...unknown, ...others]) {
      assert.equal(discoveryResponse(view, path, undefined, undefined), undefined, path);
    }
  });

  it("lists all paths at / in alphabetical order", () => {
    const { body } = rootResponse(view, ["/healthz/ping"]);
    const { paths } = JSON.parse(Buffer.from(body).toString()) as { paths: string[] };
    assert.deepEqual(paths, [...paths].sort());
    const groups = ["/api/v1", "/apis/toys.k8s.io", "/apis/toys.k8s.io/v1beta1"];
    for (const path of [...groups, "/version", "/healthz/ping"]) {
      assert.ok(paths.includes(path), path);
    }
  });

  it("restricts /api, resource lists and /version to GET", () => {
    const methods = (path: string) => discoveryResponse(view, path, undefined, undefined)?.methods;
    for (const path of ["/api", "/api/v1", "/apis/toys.k8s.io/v1", "/version/"]) {
      assert.equal(methods(path), "get", path);
    }
    for (const path of ["/apis", "/apis/toys.k8s.io"]) {
      assert.equal(methods(path), "any", path);
    }
    assert.equal(rootResponse(view, []).methods, "any");
  });

  it("serves /version with string fields, as JSON only", () => {
    const version = read("/version");
    assert.equal(`${version.major}.${version.minor}`, "1.34");
    assert.ok(Object.values(version).every((value) => typeof value === "string"));
    const refused = refusal("/version", "application/yaml");
    const message = "406: Not Acceptable\n\nAvailable representations: application/json";
    assert.deepEqual([refused?.code, refused?.message], [406, message]);
  });
});

describe("aggregated discovery", () => {
  it("contains all resources and subresources of the groups", () => {
    const body = read("/apis", aggregatedV2);
    assert.equal(body.kind, "APIGroupDiscoveryList");
    assert.equal(body.apiVersion, "apidiscovery.k8s.io/v2");
    const [group] = body.items;
    assert.deepEqual(group.metadata, { name: "toys.k8s.io" });
    assert.deepEqual(
      group.versions.map((v: any) => v.version),
      ["v1", "v1beta1"],
    );
    assert.deepEqual(group.versions[0].resources, [
      {
        resource: "toys",
        responseKind: { group: "", version: "", kind: "Toy" },
        scope: "Namespaced",
        singularResource: "toy",
        verbs: allVerbs,
        shortNames: ["ty"],
        categories: ["all"],
        subresources: [
          {
            subresource: "scale",
            responseKind: { group: "sizes", version: "v1", kind: "Scale" },
            verbs: ["get"],
          },
          {
            subresource: "status",
            responseKind: { group: "", version: "", kind: "Toy" },
            verbs: ["get", "patch", "update"],
          },
        ],
      },
    ]);
    assert.equal(group.versions[0].freshness, "Current");
    assert.deepEqual(
      read("/api", aggregatedV2).items.map((i: any) => i.metadata),
      [{}],
    );
  });

  it("responds 304 to a matching entity tag, which changes when a kind is added", () => {
    const first = discoveryResponse(view, "/apis", aggregatedV2, undefined);
    const { etag = "" } = first?.headers ?? {};
    assert.match(etag, /^"[0-9A-F]{128}"$/);
    const again = discoveryResponse(viewOf(toyCatalog()), "/apis", aggregatedV2, etag);
    assert.deepEqual([again?.status, again?.headers["etag"], again?.body.length], [304, etag, 0]);
    const grown = discoveryResponse(
      viewOf(toyCatalog(lateKind("example.com"))),
      "/apis",
      aggregatedV2,
      etag,
    );
    assert.equal(grown?.status, 200);
    assert.notEqual(grown?.headers["etag"], etag);
  });

  const v9 = aggregatedV2.replace("v=v2", "v=v9");
  const rows: readonly (readonly [string, string, number, string?])[] = [
    ["/api", aggregatedV2, 200, "APIGroupDiscoveryList"],
    ["/api", `application/json,${aggregatedV2}`, 200, "APIGroupDiscoveryList"],
    ["/api", `${aggregatedV2};profile=nopeer`, 200, "APIGroupDiscoveryList"],
    ["/api", `${v9},application/json`, 200, "APIVersions"],
    ["/api", v9, 406],
    ["/apis", aggregatedV2.replace("List", ""), 406],
    ["/apis/", aggregatedV2, 406],
    ["/apis/toys.k8s.io", aggregatedV2, 406],
    ["/apis/toys.k8s.io", `${aggregatedV2},application/json`, 200, "APIGroup"],
    ["/apis/toys.k8s.io/v1", aggregatedV2, 406],
    ["/apis/toys.k8s.io/v1", "application/json;as=Table;v=v1;g=meta.k8s.io", 406],
    ["/apis/toys.k8s.io/v1", "text/html,application/xml;q=0.9,*/*;q=0.8", 200, "APIResourceList"],
    ["/apis/toys.k8s.io/v1", "", 200, "APIResourceList"],
  ];
  for (const [path, accept, status, kind] of rows) {
    it(`${path} as ${accept || "(empty)"}: ${status}`, () => {
      assert.equal(statusOf(path, accept), status);
      if (kind !== undefined) assert.equal(read(path, accept).kind, kind);
    });
  }

  it("rejects media types with the message of the negotiation or of the router", () => {
    const list = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    const message = (accept: string) => refusal("/apis/toys.k8s.io/v1", accept)?.message;
    assert.equal(message(v9), `only the following media types are accepted: ${list}`);
    assert.equal(message("text/html"), `406: Not Acceptable\n\nAvailable representations: ${list}`);
  });
});

describe("discovery formats", () => {
  const bytes = (path: string, accept: string) => {
    const response = discoveryResponse(view, path, accept, undefined);
    assert.equal(response?.headers["content-type"], accept);
    return response.body;
  };

  it("encodes YAML", () => {
    assert.equal(
      Buffer.from(bytes("/apis/toys.k8s.io/", "application/yaml")).toString(),
      [
        "apiVersion: v1",
        "kind: APIGroup",
        "name: toys.k8s.io",
        "preferredVersion:",
        "  groupVersion: toys.k8s.io/v1",
        "  version: v1",
        "versions:",
        "- groupVersion: toys.k8s.io/v1",
        "  version: v1",
        "- groupVersion: toys.k8s.io/v1beta1",
        "  version: v1beta1",
        "",
      ].join("\n"),
    );
  });

  const protobuf = "application/vnd.kubernetes.protobuf";
  const rows: readonly (readonly [string, string, StructType<any>])[] = [
    ["/api", protobuf, apiVersions],
    ["/apis", protobuf, apiGroupList],
    ["/apis/toys.k8s.io", protobuf, apiGroup],
    ["/apis/toys.k8s.io/v1", protobuf, apiResourceList],
    ["/apis", aggregatedV2.replace("application/json", protobuf), apiGroupDiscoveryList],
  ];
  for (const [path, accept, struct] of rows) {
    it(`encodes ${struct.name} as Protobuf with the content of JSON`, () => {
      const envelope = unwrapEnvelope(bytes(path, accept));
      assert.ok(envelope !== undefined);
      assert.equal(envelope.kind, struct.name);
      const want = read(path, accept.replace(protobuf, "application/json"));
      const got = toJsonValue(struct, fromProtobuf(struct, envelope.raw) as never);
      assert.equal(envelope.apiVersion, want.apiVersion ?? "");
      delete want.kind;
      delete want.apiVersion;
      assert.deepEqual(got, want);
    });
  }
});

describe("discovery of aggregated servers", () => {
  const resources = [
    {
      resource: "nodes",
      responseKind: { group: "", version: "", kind: "NodeMetrics" },
      scope: "Cluster",
      singularResource: "",
      verbs: ["get", "list"],
    },
  ];

  function registeredVersion(name: string, rest: Partial<RegisteredVersion>): RegisteredVersion {
    const [group = "", version = ""] = name.split("/");
    return { group, version, groupPriorityMinimum: 100, versionPriority: 100, ...rest };
  }

  function viewWith(...registered: readonly RegisteredVersion[]): DiscoveryView {
    const versions = new Map(registered.map((each) => [`${each.group}/${each.version}`, each]));
    return viewOf(toyCatalog(lateKind("example.com")), { versions });
  }

  const metrics = registeredVersion("metrics.k8s.io/v1beta1", {
    remote: { version: "v1beta1", resources, freshness: "Current" },
  });
  const stale = registeredVersion("metrics.k8s.io/v1beta1", {
    remote: { version: "v1beta1", freshness: "Stale" },
  });

  it("lists their groups, available or not, and does not serve their resource lists", () => {
    for (const registered of [metrics, stale]) {
      const on = viewWith(registered);
      const names = read("/apis", undefined, on).groups.map(({ name }: any) => name);
      assert.deepEqual(names, ["example.com", "toys.k8s.io", "metrics.k8s.io"]);
      const { versions } = read("/apis/metrics.k8s.io", undefined, on);
      assert.deepEqual(versions, [{ groupVersion: "metrics.k8s.io/v1beta1", version: "v1beta1" }]);
      assert.equal(read("/apis/metrics.k8s.io/v1beta1", undefined, on), undefined);
      const { body } = rootResponse(on, []);
      const { paths } = JSON.parse(Buffer.from(body).toString()) as { paths: string[] };
      assert.ok(paths.includes("/apis/metrics.k8s.io/v1beta1"));
    }
  });

  it("includes their resources in aggregated discovery, which changes the entity tag", () => {
    const on = viewWith(metrics);
    assert.deepEqual(read("/apis", aggregatedV2, on).items.at(-1), {
      metadata: { name: "metrics.k8s.io" },
      versions: [{ version: "v1beta1", resources, freshness: "Current" }],
    });
    const gone = read("/apis", aggregatedV2, viewWith(stale)).items.at(-1);
    assert.deepEqual(gone.versions, [{ version: "v1beta1", freshness: "Stale" }]);
    const tags = [view, on, viewWith(stale)].map(
      (each) => discoveryResponse(each, "/apis", aggregatedV2, undefined)?.headers["etag"],
    );
    assert.equal(new Set(tags).size, 3);
  });

  it("orders groups and versions by the priorities of their APIServices", () => {
    const first = registeredVersion("metrics.k8s.io/v1beta1", {
      ...metrics,
      groupPriorityMinimum: 19_000,
    });
    const beta = registeredVersion("toys.k8s.io/v1beta1", { versionPriority: 200 });
    const late = registeredVersion("example.com/v1", { groupPriorityMinimum: 2_000 });
    const on = viewWith(first, beta, late);
    for (const names of [
      read("/apis", undefined, on).groups.map(({ name }: any) => name),
      read("/apis", aggregatedV2, on).items.map(({ metadata }: any) => metadata.name),
    ]) {
      assert.deepEqual(names, ["metrics.k8s.io", "example.com", "toys.k8s.io"]);
    }
    assert.equal(read("/apis/toys.k8s.io", undefined, on).preferredVersion.version, "v1beta1");
  });

  it("prefers the server of an APIService over the local resources of its version", () => {
    const remote = { version: "v1", resources, freshness: "Current" } as const;
    const on = viewWith(registeredVersion("example.com/v1", { remote }));
    assert.equal(read("/apis/example.com/v1", undefined, on), undefined);
    const { versions } = read("/apis", aggregatedV2, on).items.at(-1);
    assert.deepEqual(versions, [remote]);
  });

  it("lists the group of a local APIService that is not served, but not its resources", () => {
    const on = viewWith(registeredVersion("local.com/v1", {}));
    assert.equal(read("/apis/local.com", undefined, on).preferredVersion.version, "v1");
    assert.equal(read("/apis/local.com/v1", undefined, on), undefined);
    const names = read("/apis", aggregatedV2, on).items.map(({ metadata }: any) => metadata.name);
    assert.ok(!names.includes("local.com"));
  });

  it("serves v2beta1 only if enabled", () => {
    const v2beta1 = aggregatedV2.replace("v=v2", "v=v2beta1");
    const on = { ...viewWith(metrics), servesBeta: true };
    const beta = read("/apis", v2beta1, on);
    assert.equal(beta.apiVersion, "apidiscovery.k8s.io/v2beta1");
    assert.deepEqual(beta.items, read("/apis", aggregatedV2, on).items);
    assert.equal(statusOf("/apis", v2beta1), 406);
  });
});

describe("order of versions", () => {
  it("is that of the example in the documentation of CustomResourceDefinitions", () => {
    const want = "v10 v2 v1 v11beta2 v10beta3 v3beta1 v12alpha1 v11alpha2 foo1 foo10".split(" ");
    assert.deepEqual([...want].sort().sort(compareVersions), want);
  });

  it("accepts zeros and rejects numbers beyond 64 bits", () => {
    const large = "v9223372036854775808";
    const want = ["v9223372036854775807", "v01", "v0", "v1beta0", "v0beta1", "foo", large];
    assert.deepEqual([...want].sort().sort(compareVersions), want);
  });
});

function hash(text: string): string {
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}
