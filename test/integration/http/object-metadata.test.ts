/** Validation of metadata and of kinds in bodies, for every resource that the server has. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

interface Status {
  readonly message: string;
  readonly details?: { readonly causes?: readonly Cause[] };
  readonly metadata: { readonly name?: string };
}

interface Cause {
  readonly field: string;
  readonly message: string;
}

interface Collection {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
}

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
};

describe("metadata and kinds of new objects", function () {
  let server: RunningServer;
  let collections: readonly Collection[];

  before(async () => {
    server = await startServer({
      controllers: false,
      runtimeConfig: new Map([["api/all", "true"]]),
    });
    await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    for (const name of ["default", "kube-root-ca"]) await serviceAccount(name);
    collections = await collectionsOf();
  });
  after(() => server.close());

  async function send(method: string, path: string, body?: object) {
    const response = await server.fetch(path, {
      method,
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const warning = response.headers.get("warning") ?? "";
    return { code: response.status, warning, body: (await response.json()) as Status };
  }

  const serviceAccount = (name: string) =>
    send("POST", "/api/v1/namespaces/default/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name },
    });

  /** Collections that can be read and created in, of every group and version. */
  async function collectionsOf(): Promise<Collection[]> {
    const groups: any = (await send("GET", "/apis")).body;
    const versions: string[] = groups.groups.flatMap((group: any) =>
      group.versions.map(({ groupVersion }: any) => groupVersion),
    );
    const found: Collection[] = [];
    for (const [prefix, apiVersion] of [
      ["/api/v1", "v1"],
      ...versions.map((each) => [`/apis/${each}`, each] as const),
    ] as const) {
      const list: any = (await send("GET", prefix)).body;
      for (const { name, kind, namespaced, verbs } of list.resources) {
        if (name.includes("/") || !verbs.includes("create") || !verbs.includes("get")) continue;
        const path = `${prefix}${namespaced ? "/namespaces/default" : ""}/${name}?dryRun=All`;
        found.push({ path, apiVersion, kind });
      }
    }
    assert.ok(found.length > 50);
    return found;
  }

  const create = ({ path, apiVersion, kind }: Collection, metadata?: object) =>
    send("POST", path, { apiVersion, kind, ...(metadata && { metadata }) });
  const causesOf = ({ details }: Status, field: string) =>
    (details?.causes ?? []).filter((cause) => cause.field === field);

  it("reports a missing name once, whatever else is invalid", async () => {
    for (const collection of collections) {
      const { code, body } = await create(collection);
      if (collection.kind === "LimitRange") {
        assert.equal(code, 201);
        assert.match(body.metadata.name ?? "", /^[0-9a-f-]{36}$/);
        continue;
      }
      const messages = causesOf(body, "metadata.name").map(({ message }) => message);
      // kube-apiserver does not look at the metadata of Events of core/v1 if another field is invalid.
      assert.ok(code === 422, `${collection.path}: ${code} ${body.message}`);
      assert.deepEqual(
        messages,
        ["Required value: name or generateName is required"],
        body.message,
      );
    }
  });

  it("reports of a generateName what it reports of the name, at both fields", async () => {
    for (const collection of collections) {
      const { body } = await create(collection, { generateName: "A_" });
      const prefix = causesOf(body, "metadata.generateName").map(({ message }) => message);
      const name = causesOf(body, "metadata.name").map(({ message }) => message);
      assert.equal(prefix.length, name.length, `${collection.path}: ${body.message}`);
    }
  });

  it("checks an Event of core/v1 for metadata only if its other fields are valid", async () => {
    const events = { path: "/api/v1/namespaces/default/events", apiVersion: "v1", kind: "Event" };
    const { body } = await send("POST", `${events.path}?dryRun=All`, {
      ...events,
      involvedObject: { namespace: "other" },
    });
    const fields = body.details?.causes?.map(({ field }) => field);
    assert.deepEqual(fields, ["involvedObject.namespace"]);
    assert.equal((await create(events, { name: "a", finalizers: ["a"] })).code, 201);
  });

  it("names the rules of names that other fields determine before those of labels", async () => {
    const labels = { "": "" };
    for (const [name, rule] of [
      ["apiservices", 'must be `spec.version+"."+spec.group`: "."'],
      ["customresourcedefinitions", 'must be spec.names.plural+"."+spec.group'],
    ]) {
      const collection = collections.find(({ path }) => path.includes(name!))!;
      const { body } = await create(collection, { name: "a", labels });
      const [first, second] = body.details?.causes ?? [];
      assert.equal(first?.message, `Invalid value: "a": ${rule}`);
      assert.equal(second?.field, "metadata.labels");
    }
  });

  it("warns of custom resources' finalizers as their form requires", async () => {
    const path = "/apis/example.com/v1/namespaces/default/widgets?dryRun=All";
    const widget = { path, apiVersion: "example.com/v1", kind: "Widget" };
    const finalizers = ["b.example", "a", "kubernetes", "example.com/x"];
    const { warning } = await create(widget, { name: "w", finalizers });
    const texts = [...warning.matchAll(/metadata\.finalizers: \\"([^"]*)\\": ([^,"]*)/g)];
    const told = texts.map(([, name, text]) => [name, text!.slice(0, 60)]);
    const domain = "prefer a domain-qualified finalizer name ";
    assert.deepEqual(told, [
      ["a", `${domain}to avoid accidental`.slice(0, 60)],
      ["b.example", `${domain}including a path (/)`.slice(0, 60)],
    ]);
  });

  it("serves the document of a version of custom resources for every method", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const custom = await send(method, "/apis/example.com/v1", {});
      assert.equal(custom.code, 200, method);
      assert.equal((custom.body as any).resources[0].name, "widgets");
      assert.equal((await send(method, "/apis/apps/v1", {})).code, 405);
    }
  });

  const [legacy, definitions, aggregator, options] = [
    "pkg/api/legacyscheme/scheme.go:30",
    "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
    "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
    "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27",
  ] as const;
  const unknown = "unknown conversion";
  const maps = "/api/v1/namespaces/default/configmaps";
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const services = "/apis/apiregistration.k8s.io/v1/apiservices";
  /** Method, path, kind and version of the body, end of the message; as kube-apiserver 1.34.9 responds. */
  const foreign = [
    ["POST", maps, "Pod", "v1", `converting (v1.Pod) to (core.ConfigMap): ${unknown}`],
    ["POST", maps, "Status", "v2", `converting (v1.Status) to (core.ConfigMap): ${unknown}`],
    [
      "POST",
      maps,
      "DeleteOptions",
      "apps/v1",
      `(v1.DeleteOptions) to (core.ConfigMap): ${unknown}`,
    ],
    ["POST", maps, "PodLogOptions", "v1", `(v1.PodLogOptions) to (core.ConfigMap): ${unknown}`],
    ["POST", maps, "Widget", "example.com/v1", legacy],
    ["POST", maps, "APIService", "apiregistration.k8s.io/v1", legacy],
    ["POST", maps, "CustomResourceDefinition", "apiextensions.k8s.io/v1", legacy],
    ["POST", maps, "Table", "meta.k8s.io/v1", legacy],
    ["POST", crds, "Pod", "v1", definitions],
    ["POST", crds, "Status", "v1", `to (apiextensions.CustomResourceDefinition): ${unknown}`],
    ["POST", services, "Pod", "v1", aggregator],
    ["POST", services, "Status", "v1", `to (apiregistration.APIService): ${unknown}`],
    ["DELETE", `${maps}/x`, "Status", "v1", `(v1.Status) to (v1.DeleteOptions): ${unknown}`],
    ["DELETE", `${maps}/x`, "Table", "meta.k8s.io/v1beta1", `to (v1.DeleteOptions): ${unknown}`],
    ["DELETE", `${maps}/x`, "UpdateOptions", "x/v1", `to (v1.DeleteOptions): ${unknown}`],
    ["DELETE", `${maps}/x`, "PatchOptions", "v1", options],
    ["DELETE", `${maps}/x`, "Pod", "v1", options],
    ["DELETE", maps, "APIGroup", "v1", `(v1.APIGroup) to (v1.DeleteOptions): ${unknown}`],
  ] as const;
  for (const [method, path, kind, apiVersion, end] of foreign) {
    it(`${method} ${path} refuses a ${kind} of ${apiVersion}`, async () => {
      const { code, body } = await send(method, path, { kind, apiVersion });
      assert.equal(code, method === "DELETE" ? 500 : 400);
      assert.ok(body.message.replace(/"$/, "").endsWith(end), body.message);
    });
  }
});
