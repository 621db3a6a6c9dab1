import assert from "node:assert/strict";
import { Catalog } from "#meta";
import { structs } from "#schema";
import { openApiV3Documents } from "./documents.ts";
import { openApiResponse, type OpenApiView } from "./openapi.ts";
import { box, lateKind, toyCatalog, toyDomain } from "../discovery/toy-catalog.ts";

const catalog = toyCatalog();
const none = new URLSearchParams();

function viewOf(on: Catalog): OpenApiView {
  return { catalog: on, remoteSpecs: [], remoteDocuments: new Map(), reportFault: assert.fail };
}

async function fetchDocument(path: string, headers: Record<string, string> = {}, on = catalog) {
  const [pathname = "", search = ""] = path.split("?");
  const view = viewOf(on);
  const response = await openApiResponse(view, pathname, new URLSearchParams(search), headers);
  assert.ok(response !== undefined, path);
  return { ...response, body: Buffer.concat(response.body) };
}

async function read(path: string, on = catalog): Promise<any> {
  return JSON.parse((await fetchDocument(path, {}, on)).body.toString());
}

async function addressOf(key: string, on = catalog): Promise<string> {
  return (await read("/openapi/v3", on)).paths[key].serverRelativeURL;
}

const toyV1 = "/openapi/v3/apis/toys.k8s.io/v1";

describe("openapi v3", () => {
  it("lists the URL of every document with the hash of its content", async () => {
    const keys = Object.keys((await read("/openapi/v3")).paths);
    const groupKeys = ["apis/toys.k8s.io", "apis/toys.k8s.io/v1", "apis/toys.k8s.io/v1beta1"];
    const issuer = ".well-known/openid-configuration";
    assert.deepEqual(keys, [
      issuer,
      "api",
      "api/v1",
      "apis",
      ...groupKeys,
      "openid/v1/jwks",
      "version",
    ]);
    assert.match(await addressOf("api/v1"), /^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{128}$/);
    assert.equal(
      (await fetchDocument("/openapi/v3")).headers["content-type"],
      "text/plain; charset=utf-8",
    );
  });

  it("marks responses to URLs with a hash as immutable, and redirects outdated hashes", async () => {
    const address = await addressOf("apis/toys.k8s.io/v1");
    assert.match((await fetchDocument(address)).headers["cache-control"] ?? "", /immutable/);
    assert.equal((await fetchDocument(toyV1)).headers["cache-control"], undefined);
    const moved = await fetchDocument(`${toyV1}?hash=WRONG`);
    assert.deepEqual(
      [moved.status, moved.headers["location"], moved.body.length],
      [301, address, 0],
    );
  });

  it("responds 304 to its entity tag, 406 to other media types and 404 to unknown versions", async () => {
    const { etag = "" } = (await fetchDocument(toyV1)).headers;
    assert.equal((await fetchDocument(toyV1, { "if-none-match": etag })).status, 304);
    assert.equal((await fetchDocument(toyV1, { accept: "text/html" })).status, 406);
    assert.equal((await fetchDocument(toyV1, { accept: "text/html,*/*" })).status, 200);
    for (const unknown of ["apis/none/v1", "api/v9", "apis/toys.k8s.io/v2", ""]) {
      assert.equal((await fetchDocument(`/openapi/v3/${unknown}`)).status, 404, unknown);
    }
    for (const other of ["/openapi", "/openapi/v1", "/openapi/v2/x", "/api"]) {
      assert.equal(await openApiResponse(viewOf(catalog), other, none, {}), undefined, other);
    }
  });

  it("resolves every reference within the document", async () => {
    for (const [address, { document }] of openApiV3Documents(catalog)) {
      const text = Buffer.concat((await document()).json).toString();
      const { components } = JSON.parse(text);
      for (const [, name] of text.matchAll(/#\/components\/schemas\/([^"]+)"/g)) {
        assert.ok(components.schemas[name!] !== undefined, `${address}: ${name}`);
      }
    }
  });

  it("publishes the fieldValidation parameter and the kind of patches, which kubectl checks", async () => {
    const { patch } = (await read(toyV1)).paths[
      "/apis/toys.k8s.io/v1/namespaces/{namespace}/toys/{name}"
    ];
    assert.deepEqual(patch["x-kubernetes-group-version-kind"], {
      group: "toys.k8s.io",
      version: "v1",
      kind: "Toy",
    });
    assert.ok(patch.parameters.some((p: any) => p.name === "fieldValidation" && p.in === "query"));
  });

  it("marks kinds, lists and shared structs with their group version", async () => {
    const { schemas } = (await read(toyV1)).components;
    const kindsOf = (name: string) => schemas[`io.k8s.${name}`]["x-kubernetes-group-version-kind"];
    const groupVersion = { group: "toys.k8s.io", version: "v1" };
    assert.deepEqual(kindsOf("api.toys.v1.Toy"), [{ ...groupVersion, kind: "Toy" }]);
    assert.deepEqual(kindsOf("api.toys.v1.ToyList"), [{ ...groupVersion, kind: "ToyList" }]);
    const [core, ...others] = kindsOf("apimachinery.pkg.apis.meta.v1.DeleteOptions");
    assert.deepEqual(core, { group: "", version: "v1", kind: "DeleteOptions" });
    assert.equal(others.length, 61);
    const list = schemas["io.k8s.api.toys.v1.ToyList"];
    assert.deepEqual(list.required, ["items"]);
    assert.deepEqual(Object.keys(list.properties), ["apiVersion", "items", "kind", "metadata"]);
  });

  it("names operations after group, version, scope and kind", async () => {
    const namespaced = "namespaces/{namespace}/toys";
    const rows: readonly (readonly [string, string, string, string])[] = [
      ["toys", "get", "listToysV1ToyForAllNamespaces", "list"],
      [namespaced, "get", "listToysV1NamespacedToy", "list"],
      [namespaced, "post", "createToysV1NamespacedToy", "post"],
      [namespaced, "delete", "deleteToysV1CollectionNamespacedToy", "deletecollection"],
      [`${namespaced}/{name}`, "get", "readToysV1NamespacedToy", "get"],
      [`${namespaced}/{name}`, "put", "replaceToysV1NamespacedToy", "put"],
      [`${namespaced}/{name}`, "delete", "deleteToysV1NamespacedToy", "delete"],
      [`${namespaced}/{name}/status`, "put", "replaceToysV1NamespacedToyStatus", "put"],
      [`${namespaced}/{name}/scale`, "get", "readToysV1NamespacedToyScale", "get"],
      ["watch/toys", "get", "watchToysV1ToyListForAllNamespaces", "watchlist"],
      [`watch/${namespaced}`, "get", "watchToysV1NamespacedToyList", "watchlist"],
      [`watch/${namespaced}/{name}`, "get", "watchToysV1NamespacedToy", "watch"],
    ];
    const { paths } = await read(toyV1);
    for (const [path, method, id, action] of rows) {
      const operation = paths[`/apis/toys.k8s.io/v1/${path}`][method];
      assert.deepEqual([operation.operationId, operation["x-kubernetes-action"]], [id, action]);
      assert.deepEqual(operation.tags, ["toys_v1"]);
    }
    const ids = Object.values<any>(paths).flatMap((item) =>
      Object.values<any>(item).flatMap((operation) => operation.operationId ?? []),
    );
    assert.equal(new Set(ids).size, ids.length);
  });

  it("publishes only the verbs of a kind", async () => {
    const { paths } = await read("/openapi/v3/api/v1");
    const methods = (path: string) =>
      Object.keys(paths[path]).filter((key) => key !== "parameters");
    assert.deepEqual(methods("/api/v1/boxes").sort(), ["get", "post"]);
    assert.deepEqual(methods("/api/v1/namespaces/{namespace}/bonds"), ["post"]);
    assert.equal(paths["/api/v1/bonds"], undefined);
    assert.equal(paths["/api/v1/watch/namespaces/{namespace}/bonds"], undefined);
  });

  it("publishes the common parameters of operations once, for their path", async () => {
    const { paths } = await read(toyV1);
    const names = (list: any[]) => list.map((p) => p.name);
    const item = paths["/apis/toys.k8s.io/v1/namespaces/{namespace}/toys/{name}"];
    assert.deepEqual(names(item.parameters), ["name", "namespace", "pretty"]);
    const patchParameters = ["dryRun", "fieldManager", "fieldValidation", "force"];
    assert.deepEqual(names(item.patch.parameters), patchParameters);
    assert.equal(item.get.parameters, undefined);
    const watch = paths["/apis/toys.k8s.io/v1/watch/toys"];
    assert.ok(names(watch.parameters).includes("resourceVersionMatch"));
    assert.equal(watch.get.parameters, undefined);
  });
});

describe("openapi documents of a changed catalog", () => {
  it("are rebuilt only for changed group versions", async () => {
    const grown = toyCatalog(lateKind("example.com"), lateKind("toys.{api}"));
    const built = (on: Catalog, address: string) => openApiV3Documents(on).get(address)?.document();
    for (const untouched of ["api/v1", "apis/toys.k8s.io/v1beta1"]) {
      assert.equal(await built(grown, untouched), await built(catalog, untouched));
    }
    const touched = "apis/toys.k8s.io/v1";
    assert.notEqual(await built(grown, touched), await built(catalog, touched));
    const { paths } = await read("/openapi/v3/apis/example.com/v1", grown);
    const late = paths["/apis/example.com/v1/namespaces/{namespace}/lates"];
    assert.equal(late.post.operationId, "createExampleComV1NamespacedLate");
  });

  it("have equal hashes if their contents are equal", async () => {
    const again = new Catalog([box], { ...toyDomain });
    const alone = new Catalog([box], { ...toyDomain });
    assert.equal(await addressOf("api/v1", again), await addressOf("api/v1", alone));
  });
});

describe("openapi v2", () => {
  let document: any;

  before(async () => {
    document = await read("/openapi/v2");
  });

  it("contains all paths, and the definition of every reference", async () => {
    assert.equal(document.swagger, "2.0");
    for (const path of ["/api/", "/apis/", "/apis/toys.k8s.io/", "/version/", "/api/v1/boxes"]) {
      assert.ok(document.paths[path] !== undefined, path);
    }
    for (const [, name] of JSON.stringify(document).matchAll(/#\/definitions\/([^"]+)"/g)) {
      assert.ok(document.definitions[name!] !== undefined, name);
    }
  });

  it("has items for every array, which clients require", async () => {
    const all = JSON.stringify(document, (_key, value) => {
      if (value?.type === "array") assert.ok(value.items !== undefined, JSON.stringify(value));
      return value;
    });
    assert.ok(all.includes('"type":"array"'));
  });

  it("lists all registered group versions for DeleteOptions", async () => {
    const name = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    const kinds = document.definitions[name]["x-kubernetes-group-version-kind"];
    const texts = kinds.map((k: any) => `${k.group}/${k.version}`);
    assert.equal(texts.length, 62);
    assert.deepEqual(texts.slice(0, 2), ["/v1", "admission.k8s.io/v1"]);
    assert(texts.includes("extensions/v1beta1"), "not served, but registered");
  });

  it("publishes bodies as parameters", async () => {
    const { post } = document.paths["/api/v1/boxes"];
    const [body] = post.parameters;
    assert.deepEqual(body, {
      name: "body",
      in: "body",
      required: true,
      schema: { $ref: "#/definitions/io.k8s.api.core.v1.Box" },
    });
    assert.deepEqual(Object.keys(post.responses), ["200", "201", "202", "401"]);
  });
});

describe("a definition that cannot be printed", () => {
  it("is served as an opaque object and reported, beside all others", async () => {
    const broken = structs("api/core/v1")("Broken", "A kind whose schema throws.", {});
    Object.defineProperty(broken, "doc", {
      get: () => {
        throw new TypeError("no schema");
      },
    });
    const versions = [
      { version: "v1", struct: broken, onByDefault: true, convert: "hub" as const },
    ];
    const kind = { ...box, kind: "Broken", plural: "brokens", versions, hub: broken };
    const faults: string[] = [];
    const view: OpenApiView = {
      ...viewOf(new Catalog([box, kind], toyDomain)),
      reportFault: (fault) => faults.push(fault),
    };
    for (const [path, schemasOf] of [
      ["/openapi/v2", ({ definitions }: any) => definitions],
      ["/openapi/v3/api/v1", ({ components }: any) => components.schemas],
    ] as const) {
      const response = await openApiResponse(view, path, none, {});
      assert.equal(response?.status, 200);
      const schemas = schemasOf(JSON.parse(Buffer.concat(response.body).toString()));
      assert.equal(schemas["io.k8s.api.core.v1.Box"].description, "A box.");
      const { "x-kubernetes-preserve-unknown-fields": open } = schemas["io.k8s.api.core.v1.Broken"];
      assert.equal(open, true);
    }
    assert.deepEqual([...new Set(faults)], ["io.k8s.api.core.v1.Broken: no schema"]);
  });
});
