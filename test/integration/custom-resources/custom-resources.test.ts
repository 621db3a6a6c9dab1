import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { networkInterfaces } from "node:os";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { type Behaviour, ConversionWebhook, renamed } from "./conversion-webhook.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const group = "example.com";

/** Media types of bodies by method; APPLY is a PATCH of that type. */
const types: Readonly<Record<string, string>> = {
  PATCH: "application/merge-patch+json",
  APPLY: "application/apply-patch+yaml",
};

const anyObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function version(name: string, spec: object, rest: object = {}): object {
  const openAPIV3Schema = { type: "object", properties: { spec } };
  return { name, served: true, storage: false, schema: { openAPIV3Schema }, ...rest };
}

const sized = { type: "object", properties: { size: { type: "integer" } } };
const long = { type: "object", properties: { length: { type: "integer" } } };

function definition(plural: string, versions: readonly object[], rest: object = {}): object {
  const kind = plural.slice(0, 1).toUpperCase() + plural.slice(1, -1);
  const spec = { group, scope: "Namespaced", names: { plural, kind }, versions, ...rest };
  const typeMeta = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  return { ...typeMeta, metadata: { name: `${plural}.${group}` }, spec };
}

describe("custom resources", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  async function send(method: string, path: string, body?: unknown): Promise<any> {
    const type = types[method] ?? "application/json";
    const verb = method === "APPLY" ? "PATCH" : method;
    const sent = { headers: { "content-type": type }, body: JSON.stringify(body) };
    const init = { method: verb, ...(body === undefined ? {} : sent) };
    const response = await server.fetch(path, init);
    const text = await response.text();
    return text.startsWith("{") ? JSON.parse(text) : { code: response.status, text };
  }

  async function until<T>(what: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < 2400; tries++) {
      const value = await what();
      if (value !== undefined) return value;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error("timed out");
  }

  const established = (plural: string): Promise<any> =>
    until(async () => {
      const { status } = await send("GET", `${definitions}/${plural}.${group}`);
      const found = status?.conditions?.find((each: any) => each.type === "Established");
      return found?.status === "True" ? status : undefined;
    });
  const gone = (path: string): Promise<true> =>
    until(async () => ((await send("GET", path)).code === 404 ? true : undefined));

  async function define(plural: string, versions: readonly object[], rest = {}): Promise<any> {
    const made = await send("POST", definitions, definition(plural, versions, rest));
    assert.equal(made.kind, "CustomResourceDefinition", made.message);
    await established(plural);
    return made;
  }

  const at = (plural: string, name = "", apiVersion = "v1") =>
    `/apis/${group}/${apiVersion}/namespaces/default/${plural}${name && `/${name}`}`;
  const object = (kind: string, name: string, spec: object, apiVersion = "v1") => ({
    apiVersion: `${group}/${apiVersion}`,
    kind,
    metadata: { name },
    spec,
  });

  it("are served once established, and deleted with their definition", async () => {
    await define("cars", [version("v1", sized, { storage: true })]);
    const car = await send("POST", at("cars"), object("Car", "a", { size: 1, wings: 2 }));
    assert.deepEqual([car.spec, car.metadata.generation], [{ size: 1 }, 1]);
    const watch = await server.fetch(`${at("cars")}?watch=1&resourceVersion=0`);
    const told = watch.text();
    await send("PATCH", at("cars", "a"), { metadata: { finalizers: ["example.com/wait"] } });
    const marked = await send("DELETE", `${definitions}/cars.${group}`);
    assert.deepEqual(marked.metadata.finalizers, ["customresourcecleanup.apiextensions.k8s.io"]);
    await until(async () => (await send("GET", at("cars", "a"))).metadata?.deletionTimestamp);
    const late = await send("POST", at("cars"), object("Car", "b", {}));
    assert.match(
      late.message,
      / is forbidden: create not allowed while custom resource definition is term/,
    );
    await send("PATCH", at("cars", "a"), { metadata: { finalizers: null } });
    await gone(`${definitions}/cars.${group}`);
    const events = (await told).trim().split("\n");
    assert.deepEqual(
      events.map((line) => (JSON.parse(line) as any).type),
      ["ADDED", "MODIFIED", "MODIFIED", "DELETED"],
      "the watch ends by itself",
    );
    assert.equal((await send("GET", at("cars", "a"))).text, "404 page not found\n");
  });

  it("have the current schema, also objects stored under another one", async () => {
    const number = { size: { type: "integer", default: 1 }, wrong: "x" };
    const text = { size: { type: "string", default: "small" }, wrong: 5 };
    for (const { size, wrong: other } of [number, text, number]) {
      const schema = { type: "object", properties: { size } };
      await define("trees", [version("v1", schema, { storage: true })]);
      const made = await send("POST", at("trees"), object("Tree", "t", {}));
      assert.equal(made.spec.size, size.default);
      const wrong = await send("POST", at("trees"), object("Tree", "u", { size: other }));
      assert.equal(wrong.reason, "Invalid");
      await send("DELETE", `${definitions}/trees.${group}`);
      await gone(`${definitions}/trees.${group}`);
    }
  });

  it("change only the discovery and OpenAPI of their group", async () => {
    await define("hats", [version("v1", sized, { storage: true })]);
    const hash = async (): Promise<any> => (await send("GET", "/openapi/v3")).paths;
    const before = await hash();
    await send("POST", definitions, {
      ...definition("coats", [version("v1", sized, { storage: true })]),
      metadata: { name: "coats.other.example.com" },
      spec: {
        ...(definition("coats", [version("v1", sized, { storage: true })]) as any).spec,
        group: "other.example.com",
      },
    });
    const found = await until(async () => {
      const list = await send("GET", "/apis/other.example.com/v1");
      return list.kind === "APIResourceList" ? list : undefined;
    });
    assert.deepEqual(
      found.resources.map((each: any) => each.name),
      ["coats"],
    );
    const now = await hash();
    assert.ok("apis/other.example.com/v1" in now);
    assert.deepEqual(
      { ...now, "apis/other.example.com/v1": undefined },
      {
        ...before,
        "apis/other.example.com/v1": undefined,
      },
    );
    const { serverRelativeURL } = now["apis/other.example.com/v1"];
    const { components } = await send("GET", serverRelativeURL);
    const schema = components.schemas["com.example.other.v1.Coat"];
    assert.deepEqual(schema.properties.spec.properties.size, { type: "integer" });
  });

  it("are selected by name, namespace and selectableFields", async () => {
    const selected = [{ jsonPath: ".spec.size" }];
    const versions = [{ ...version("v1", sized, { storage: true }), selectableFields: selected }];
    await define("keys", versions);
    await define("maps", [version("v1", sized, { storage: true })], { scope: "Cluster" });
    const maps = `/apis/${group}/v1/maps`;
    const select = async (path: string, field: string) => {
      const { kind, code, message } = await send("GET", `${path}?fieldSelector=${field}%3Dx`);
      return message === undefined ? kind : `${code} ${message}`;
    };
    const refused = (field: string) => `400 field label not supported: ${field}`;
    for (const [path, field, expected] of [
      [at("keys"), "spec.size", "KeyList"],
      [at("keys"), "metadata.namespace", "KeyList"],
      [at("keys"), "spec.other", refused("spec.other")],
      [maps, "metadata.name", "MapList"],
      [maps, "metadata.namespace", refused("metadata.namespace")],
      [maps, "spec.size", refused("spec.size")],
    ] as const) {
      assert.equal(await select(path, field), expected, field);
    }
  });

  it("give a short name to one definition at a time", async () => {
    const first = [version("v1", sized, { storage: true })];
    await define("cats", first, { names: { plural: "cats", kind: "Cat", shortNames: ["ct"] } });
    const names = { plural: "cots", kind: "Cot", shortNames: ["ct"] };
    await send("POST", definitions, definition("cots", first, { names }));
    const refused = await until(async () => {
      const { status } = await send("GET", `${definitions}/cots.${group}`);
      return status.conditions?.find((each: any) => each.reason === "ShortNamesConflict");
    });
    assert.equal(refused.message, '"ct" is already in use');
    await send("DELETE", `${definitions}/cats.${group}`);
    await established("cots");
  });

  describe("converted by a webhook", () => {
    let webhook: ConversionWebhook;
    before(async () => {
      webhook = await ConversionWebhook.start();
      const versions = [version("v1", sized, { storage: true }), version("v2", long)];
      const { clientConfig } = webhook;
      const conversion = {
        strategy: "Webhook",
        webhook: { clientConfig, conversionReviewVersions: ["v1"] },
      };
      await define("boats", versions, { conversion });
      for (const size of [1, 2, 3]) {
        await send("POST", at("boats"), object("Boat", `b${size}`, { size }));
      }
    });
    after(() => webhook.stop());
    afterEach(() => {
      webhook.behaviour = renamed;
      webhook.uid = undefined;
    });

    it("are read, listed and written in each version", async () => {
      const boat = await send("GET", at("boats", "b1", "v2"));
      assert.deepEqual([boat.apiVersion, boat.spec], [`${group}/v2`, { length: 1 }]);
      webhook.asked.length = 0;
      const list = await send("GET", at("boats", "", "v2"));
      assert.deepEqual(
        list.items.map((each: any) => each.spec.length),
        [1, 2, 3],
      );
      assert.equal(webhook.asked.length, 1, "all in one call");
      await send("GET", at("boats", "", "v2"));
      assert.equal(webhook.asked.length, 1, "and once");
      const changed = await send("PATCH", at("boats", "b1", "v2"), { spec: { length: 7 } });
      assert.deepEqual(changed.spec, { length: 7 });
      assert.deepEqual((await send("GET", at("boats", "b1"))).spec, { size: 7 });
    });

    it("are watched in each version, in order", async () => {
      const { metadata } = await send("GET", at("boats", "", "v2"));
      const from = `watch=1&timeoutSeconds=2&resourceVersion=${metadata.resourceVersion}`;
      const watch = await server.fetch(`${at("boats", "", "v2")}?${from}`);
      for (const size of [10, 11, 12]) await send("PATCH", at("boats", "b2"), { spec: { size } });
      await send("DELETE", at("boats", "b3"));
      const events = (await watch.text())
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as any);
      assert.deepEqual(
        events.map(({ type, object: { apiVersion, spec } }) => [type, apiVersion, spec.length]),
        [
          ["MODIFIED", `${group}/v2`, 10],
          ["MODIFIED", `${group}/v2`, 11],
          ["MODIFIED", `${group}/v2`, 12],
          ["DELETED", `${group}/v2`, 3],
        ],
      );
    });

    it("have managedFields in the version of each manager", async () => {
      const owners = async (): Promise<object> => {
        const { metadata } = await send("GET", at("boats", "owned"));
        const entries = metadata.managedFields.map(({ manager, apiVersion, fieldsV1 }: any) => [
          manager,
          [apiVersion, ...Object.keys(fieldsV1["f:spec"] ?? {})],
        ]);
        return Object.fromEntries(entries);
      };
      // The manager that created the object also manages `spec` itself.
      const one = ["example.com/v1"];
      const as = (manager: string, apiVersion: string) =>
        `${at("boats", "owned", apiVersion)}?fieldManager=${manager}`;
      const boat = { ...object("Boat", "owned", { size: 1 }), kind: "Boat" };
      await send("POST", `${at("boats")}?fieldManager=one`, boat);
      await send("PATCH", as("two", "v2"), { spec: { length: 2 } });
      assert.deepEqual(await owners(), { one, two: ["example.com/v2", "f:length"] });
      const apply = (manager: string, apiVersion: string, spec: object): Promise<any> =>
        send("APPLY", as(manager, apiVersion), object("Boat", "owned", spec, apiVersion));
      const refused = await apply("three", "v1", { size: 3 });
      assert.equal(refused.code, 409, JSON.stringify(refused));
      assert.match(refused.message, /conflict with "two" using example.com\/v2.*: \.spec\.length/);
      await send("APPLY", `${as("three", "v1")}&force=true`, object("Boat", "owned", { size: 3 }));
      assert.deepEqual(await owners(), { one, three: ["example.com/v1", "f:size"] });
      // A configuration in another version replaces the manager's previous one.
      const moved = await apply("three", "v2", { length: 4 });
      assert.deepEqual(moved.spec, { length: 4 });
      assert.deepEqual(await owners(), { one, three: ["example.com/v2", "f:length"] });
    });

    const lies: readonly (readonly [string, Behaviour, RegExp])[] = [
      ["too few", () => [], /returned 0 objects, expected 1$/],
      ["no kind", () => [{ apiVersion: "x/v3" }] as any, /^Object 'Kind' is missing in '\{"apiV/],
      ["null", () => [null] as any, /^unexpected end of JSON input$/],
      [
        "another name",
        (objects, to) => renamed(objects, to).map((each) => ({ ...each, metadata: { name: "x" } })),
        /returned invalid object: must have the same name: b9 != x$/,
      ],
      [
        "another version",
        (objects, to) => renamed(objects, to).map((each) => ({ ...each, apiVersion: "x/v3" })),
        /invalid groupVersion \(expected example.com\/v2, received x\/v3\)$/,
      ],
      [
        "bad labels",
        (objects, to) =>
          renamed(objects, to).map((each) => ({
            ...each,
            metadata: { ...each.metadata, labels: { "a b": "c" } },
          })),
        /returned invalid metadata: metadata.labels: /,
      ],
      [
        "labels that are no texts",
        (objects, to) =>
          renamed(objects, to).map((each) => ({
            ...each,
            metadata: { ...each.metadata, labels: { a: 1 } },
          })),
        /invalid metadata: metadata.labels\[a\] must be a string, but is int64 in converted/,
      ],
      [
        "another kind",
        (objects, to) => renamed(objects, to).map((each) => ({ ...each, kind: "Ship" })),
        /returned invalid object at index 0: invalid kind \(expected Boat, received Ship\)$/,
      ],
      [
        "garbage",
        (_objects, _to, response) => (response.end("<html>"), null),
        /failed: couldn't get version\/kind; json parse error: json: cannot unmarshal string into/,
      ],
      [
        "a redirect",
        (_objects, _to, response) => {
          response.writeHead(302, { location: "https://127.0.0.1:1/" }).end();
          return null;
        },
        /failed: .*status code 302 but/,
      ],
      [
        "a closed connection",
        (_objects, _to, response) => (response.destroy(), null),
        /failed: Post "https:\/\/127.0.0.1:\d+\/convert\?timeout=30s": EOF$/,
      ],
      [
        "too much",
        (_objects, _to, response) => {
          const chunk = "x".repeat(2 ** 20);
          for (let count = 0; count < 20; count++) response.write(chunk);
          response.end();
          return null;
        },
        /failed: the response is larger than \d+ bytes$/,
      ],
    ];
    for (const [what, behaviour, message] of lies) {
      it(`are rejected after ${what}`, async () => {
        await send("POST", at("boats"), object("Boat", "b9", { size: 9 }));
        // Written again, so that no conversion is cached.
        await send("PATCH", at("boats", "b9"), { metadata: { labels: { turn: what.slice(-4) } } });
        webhook.behaviour = behaviour;
        const refused = await send("GET", at("boats", "b9", "v2"));
        assert.equal(refused.code, 500);
        const isDecoded = ["no kind", "null"].includes(what);
        const prefix = /^conversion webhook for example.com\/v1, Kind=Boat /;
        assert.equal(prefix.test(refused.message), !isDecoded);
        assert.match(refused.message, message);
      });
    }

    it("are rejected in another order", async () => {
      webhook.behaviour = (objects, to) => [...renamed(objects, to)].reverse();
      for (const name of ["b1", "b2"]) {
        await send("PATCH", at("boats", name), { metadata: { labels: { turn: "order" } } });
      }
      const { code, message } = await send("GET", at("boats", "", "v2"));
      assert.equal(code, 500);
      assert.match(message, /invalid converted object at index 0: must have the same name/);
    });

    it("wait for a webhook no longer than the request's timeout", async () => {
      await send("PATCH", at("boats", "b9"), { metadata: { labels: { turn: "hang" } } });
      webhook.behaviour = () => null;
      const { code } = await send("GET", `${at("boats", "b9", "v2")}?timeout=1s`);
      assert.equal(code, 504);
    });

    it("are rejected after a wrong uid", async () => {
      await send("PATCH", at("boats", "b9"), { metadata: { labels: { turn: "uid" } } });
      webhook.uid = "somebody else's";
      const { message } = await send("GET", at("boats", "b9", "v2"));
      assert.match(message, /failed: expected response.uid="[-0-9a-f]+", got "somebody else's"$/);
    });

    const [address] = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal);

    it("are converted by a webhook behind a Service", async function () {
      if (address === undefined) this.skip();
      const metadata = { name: "hook" };
      const ports = [{ name: "https", port: 443 }];
      const core = "/api/v1/namespaces/default/services";
      const typeMeta = { apiVersion: "v1", kind: "Service" };
      const made = await send("POST", core, { ...typeMeta, metadata, spec: { ports } });
      assert.equal(made.kind, "Service", made.message);
      const conversion = async (clientConfig: object): Promise<void> => {
        const named = { url: null, service: null, caBundle: webhook.caBundle, ...clientConfig };
        const spec = { conversion: { webhook: { clientConfig: named } } };
        await send("PATCH", `${definitions}/boats.${group}`, { spec });
      };
      await conversion({ service: { namespace: "default", name: "hook", path: "/c", port: 444 } });
      const turn = async (): Promise<any> => {
        await send("PATCH", at("boats", "b1"), { metadata: { labels: { turn: randomUUID() } } });
        return send("GET", at("boats", "b1", "v2"));
      };
      const refused = await until(async () => {
        const { message } = await turn();
        return message?.includes("service port") ? message : undefined;
      });
      assert.match(refused, /:444\/c\?timeout=30s": no service port 444 found for service "hook"$/);
      await conversion({ service: { namespace: "default", name: "hook", path: "/c", port: 443 } });
      await send("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: "hook-1", labels: { "kubernetes.io/service-name": "hook" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [address.address] }],
        ports: [{ name: "https", port: webhook.port }],
      });
      const boat = await until(async () => {
        const answer = await turn();
        return answer.kind === "Boat" ? answer : undefined;
      });
      assert.deepEqual([boat.apiVersion, webhook.host], [`${group}/v2`, "hook.default.svc"]);
      await conversion({ url: `https://127.0.0.1:${webhook.port}/convert` });
    });

    it("are deleted with their definition even if the webhook is unavailable", async () => {
      webhook.stop();
      await send("DELETE", `${definitions}/boats.${group}`);
      await gone(`${definitions}/boats.${group}`);
    });
  });

  it("validate only the status in status writes, and evaluate rules of all fields", async () => {
    const integer = { type: "integer" };
    const spec = { type: "object", properties: { size: integer, replicas: integer } };
    const status = { type: "object", properties: { size: { ...integer, minimum: 0 } } };
    const rule = "!has(self.status) || self.status.size <= self.spec.size";
    const made = (most: number, scale: object | null): object => {
      const size = { ...integer, maximum: most };
      const properties = { spec: { ...spec, properties: { ...spec.properties, size } }, status };
      const rules = [{ rule, message: "too large" }];
      const schema = { type: "object", properties, "x-kubernetes-validations": rules };
      const subresources = { status: {}, ...(scale && { scale }) };
      return {
        name: "v1",
        served: true,
        storage: true,
        subresources,
        schema: { openAPIV3Schema: schema },
      };
    };
    await define("kites", [made(100, null)]);
    await send("POST", at("kites"), object("Kite", "k", { size: 20, replicas: -1 }));
    const paths = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.size" };
    await send("PATCH", `${definitions}/kites.${group}`, { spec: { versions: [made(10, paths)] } });
    const write = (path: string, body: object): Promise<any> => send("PATCH", path, body);
    let size = 20;
    const refused = await until(async () => {
      const answer = await write(at("kites", "k"), { spec: { size: ++size } });
      return answer.code === 422 ? answer : undefined;
    });
    assert.match(refused.message, /spec.size: Invalid value: 2.*, .spec.replicas: Invalid value/);
    const statusOf = `${at("kites", "k")}/status`;
    assert.deepEqual((await write(statusOf, { status: { size: 5 } })).status, { size: 5 });
    const negative = await write(statusOf, { status: { size: -1 } });
    assert.deepEqual(
      negative.details.causes.map(({ field }: any) => field),
      ["status.size", ".status.size"],
    );
    assert.match((await write(statusOf, { status: { size } })).message, /: too large$/);
  });

  it("preserve unknown fields, among them __proto__ and large integers", async () => {
    await define("bags", [version("v1", anyObject, { storage: true })]);
    const body = `{"apiVersion":"${group}/v1","kind":"Bag","metadata":{"name":"b"},
      "spec":{"__proto__":{"a":1},"big":9007199254740993,"constructor":"c"}}`;
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    const made = await (await server.fetch(at("bags"), init)).text();
    assert.match(made, /"__proto__":\{"a":1\},"big":9007199254740993,"constructor":"c"/);
  });
});
