/**
 * Requests with about as many values as `requestBounds` allows: superlinear work on them would take
 * minutes or all memory, and block other requests. Nothing is timed here; a violation exceeds the
 * timeout of the test.
 */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { customResourceDefinition } from "../../pkg/crd/testing.ts";

const core = "/api/v1/namespaces/default";
const owner = { apiVersion: "v1", kind: "Pod", controller: true };
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

function many<V>(count: number, make: (index: number) => V): V[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function configMap(metadata: object, data: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large", ...metadata }, data };
}

function pod(spec: object): object {
  const containers = [{ name: "c", image: "i" }];
  const metadata = { name: "large" };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers, ...spec } };
}

const spread = { maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway" };
const files = many(24_000, () => ({ key: "k", path: "p" }));
const selector = { matchLabels: { a: "b" } };

const begins = Buffer.from("-----BEGIN CERTIFICATE-----\n".repeat(30_000)).toString("base64");

/** Path, body and the code of the response. */
const requests: readonly (readonly [string, string, object, number])[] = [
  [
    "owners that are all controllers",
    "configmaps",
    configMap({ ownerReferences: many(12_000, (i) => ({ ...owner, name: "o", uid: `u${i}` })) }),
    422,
  ],
  [
    "owners of one uid",
    "configmaps",
    configMap({
      ownerReferences: many(12_000, (i) => {
        return { ...owner, controller: false, name: `o${i}`, uid: "u" };
      }),
    }),
    201,
  ],
  [
    "keys that are all wrong",
    "configmaps",
    configMap({}, Object.fromEntries(many(24_000, (i) => [`/${i}`, ""]))),
    422,
  ],
  [
    "ports of a service",
    "services",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "large" },
      spec: { selector: { a: "b" }, ports: many(13_000, (i) => ({ name: `p${i}`, port: i + 1 })) },
    },
    201,
  ],
  [
    "ways to spread pods",
    "pods",
    pod({
      topologySpreadConstraints: many(10_000, (i) => ({ ...spread, topologyKey: `k${i}` })),
    }),
    201,
  ],
  [
    "label keys in two lists",
    "pods",
    pod({
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: "zone",
              labelSelector: selector,
              matchLabelKeys: many(16_000, (i) => `a${i}`),
              mismatchLabelKeys: many(16_000, (i) => `b${i}`),
            },
          ],
        },
      },
    }),
    201,
  ],
  [
    "one variable again and again, which is worth a warning each",
    "pods",
    pod({ containers: [{ name: "c", image: "i", env: many(24_000, () => ({ name: "v" })) }] }),
    201,
  ],
  [
    "beginnings of a certificate request",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    {
      metadata: { name: "large" },
      spec: { signerName: "a.b/c", usages: ["any"], request: begins },
    },
    422,
  ],
  [
    "usages of a certificate, all the same",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    {
      metadata: { name: "large" },
      spec: { signerName: "a.b/c", usages: many(33_000, () => "any"), request: "" },
    },
    422,
  ],
  [
    "files at one path",
    "pods",
    pod({ volumes: [{ name: "v", configMap: { name: "c", items: files } }] }),
    201,
  ],
];

function definition(index: number): object {
  const group = `g${index}.example.com`;
  const fields = many(100, (i) => [`field${i}`, { type: "string", description: "d".repeat(100) }]);
  const schema = { type: "object", properties: { spec: { type: "object" } } };
  Object.assign(schema.properties.spec, { properties: Object.fromEntries(fields) });
  return customResourceDefinition({ plural: "larges", kind: "Large" }, { group, schema });
}

function policy(expressions: number): object {
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nodes"] },
  ];
  const validations = many(expressions, (i) => ({ expression: `object.metadata.name != 'n${i}'` }));
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "large" },
    spec: { matchConstraints: { resourceRules }, validations },
  };
}

describe("large requests", () => {
  let server: RunningServer;

  before(async () => {
    server = await startServer({ controllers: false });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    assert.equal((await post(`${core}/serviceaccounts`, account)).status, 201);
  });
  after(() => server.close());

  function post(path: string, body: object): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return server.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  for (const [name, resource, body, code] of requests) {
    it(`take linear time: ${name}`, async () => {
      const collection = resource.startsWith("/") ? resource : `${core}/${resource}`;
      const answer = await post(`${collection}?dryRun=All`, body);
      const text = await answer.text();
      assert.equal(answer.status, code, text.slice(0, 500));
      assert.ok(text.length < 20_000_000, `${text.length} characters`);
    });
  }

  it("with too many versions of a definition are rejected", async () => {
    const { spec, ...rest } = definition(99) as any;
    const schema = { openAPIV3Schema: { type: "object" } };
    const versions = many(5000, (i) => {
      return { name: `v${i}`, served: true, storage: i === 0, schema };
    });
    const answer = await post(definitions, { ...rest, spec: { ...spec, versions } });
    assert.equal(answer.status, 422);
    assert.match(await answer.text(), /spec.versions: Too many: 5000: must have at most 100 items/);
  });

  it("yield to other requests while expressions are compiled", async () => {
    const order: string[] = [];
    const created = post(policies, policy(3000)).then(async (answer) => {
      order.push("policy");
      await answer.text();
      return answer.status;
    });
    // Reading the request and what else is looked at takes some turns.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    await server.fetch("/version").then(() => order.push("version"));
    assert.equal(await created, 201);
    assert.deepEqual(order, ["version", "policy"]);
  });

  it("yield to other requests while a large document is built", async () => {
    const created = await Promise.all(many(60, (i) => post(definitions, definition(i))));
    assert.deepEqual([...new Set(created.map(({ status }) => status))], [201]);
    const last = "/apis/g59.example.com/v1";
    while ((await server.fetch(last)).status !== 200) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const order: string[] = [];
    const document = server.fetch("/openapi/v2").then(async (answer) => {
      const { definitions: schemas } = (await answer.json()) as { definitions: object };
      order.push("document");
      return Object.keys(schemas);
    });
    const version = new Promise((resolve) => setImmediate(resolve))
      .then(() => server.fetch("/version"))
      .then(() => order.push("version"));
    await Promise.all([document, version]);
    assert.deepEqual(order, ["version", "document"]);
    assert.ok((await document).includes("com.example.g59.v1.Large"));
  });
});
