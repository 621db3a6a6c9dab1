/**
 * Messages of failures: no Status and no warning contains messages or values of the JavaScript engine.
 * The message of a failure contains the seed.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";

const seed = process.env["SEED"] ?? String(Date.now() % 1_000_000);
const rounds = Number(process.env["ROUNDS"] ?? 150);

/** Error messages and printed values of V8 and Node, which Kubernetes' messages do not contain. */
const engineWords = new RegExp(
  [
    /Unexpected (token|end of JSON|string|number|non-whitespace)/,
    /is not valid JSON|in JSON at position|Expected .* in JSON/,
    /Bad (control|escaped) character|Unterminated string in JSON/,
    /Cannot (read|set|convert|destructure|mix)|is not (a function|iterable|an object|defined)/,
    /\bundefined\b|\[object |\bNaN\b/,
    /Invalid (regular expression|array length|string length|URL|time value)|URI malformed/,
    /Maximum call stack|AssertionError|ERR_[A-Z]|\bat .*\.(ts|js|mjs):\d+|node:internal/,
    /the request failed, its log entry/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: Uint8Array | string;
}

const namespace = "/api/v1/namespaces/default";
const tokenOf = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString("base64url");

const objects: readonly (readonly [path: string, object: object])[] = [
  [
    `${namespace}/pods`,
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "x", labels: { a: "b" }, annotations: { c: "d" } },
      spec: {
        containers: [
          {
            name: "c",
            image: "i",
            ports: [{ containerPort: 80, protocol: "TCP" }],
            resources: { limits: { cpu: "1", memory: 5 } },
            livenessProbe: { httpGet: { path: "/", port: "http" } },
          },
        ],
        tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 5 }],
      },
    },
  ],
  [
    "/api/v1/nodes",
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "x", annotations: { "scheduler.alpha.kubernetes.io/taints": "[{}]" } },
      spec: { podCIDR: "10.0.0.0/24", taints: [{ key: "a", effect: "NoSchedule" }] },
    },
  ],
  [
    "/apis/apps/v1/namespaces/default/deployments",
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "x", creationTimestamp: "2020-01-01T00:00:00Z" },
      spec: {
        replicas: 1,
        strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } },
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c" }] } },
      },
    },
  ],
  [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "xs.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "xs", singular: "x", kind: "X" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: {
                  a: { type: "string", pattern: "^[a-z]+$", default: "b", maxLength: 5 },
                  c: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 0" }] },
                },
              },
            },
            additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".a[0].b" }],
          },
        ],
      },
    },
  ],
  [
    `${namespace}/services`,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x" },
      spec: { ports: [{ port: 80, targetPort: "a" }], clusterIP: "10.0.0.1", selector: { a: "b" } },
    },
  ],
];

const queries = [
  "labelSelector=a%20in%20(b,c),!d",
  "fieldSelector=metadata.name%3Dx,spec.nodeName!%3Dy",
  "resourceVersion=5&resourceVersionMatch=Exact",
  "limit=5&timeoutSeconds=1",
  "timeout=5s",
  "includeObject=Metadata",
  `limit=1&continue=${tokenOf({ v: "meta.k8s.io/v1", rv: 5, start: "a\0" })}`,
];

const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

const bodyTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/cbor",
];

/** Values that replace parts of an object. */
const strangers: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e300,
  "",
  " ",
  "0",
  "é😀",
  "\0",
  "{",
  "[",
  "((",
  "::1",
  "a/b/c",
  "2020-13-01T00:00:00Z",
  "__proto__",
  [],
  [null],
  [[]],
  {},
  { a: null },
  { constructor: 1, toString: 2 },
];

/** Replaces a random value of `object`. */
function altered(random: Random, object: unknown): unknown {
  if (typeof object !== "object" || object === null || random.below(6) === 0) {
    return random.pick(strangers);
  }
  if (Array.isArray(object)) {
    if (object.length === 0) return [random.pick(strangers)];
    const place = random.below(object.length);
    return object.map((each, index) => (index === place ? altered(random, each) : each));
  }
  const keys = Object.keys(object);
  const key = keys.length === 0 ? "a" : random.pick(keys);
  const inner = (object as Readonly<Record<string, unknown>>)[key];
  return { ...object, [key]: altered(random, inner) };
}

function mangled(random: Random, text: string | Uint8Array): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length === 0) return bytes;
  const at = random.below(bytes.length);
  switch (random.below(4)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      bytes[at] = random.below(256);
      return bytes;
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    default:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at >> 1)]);
  }
}

function create(random: Random): Sent {
  const [path, object] = random.pick(objects);
  const text = JSON.stringify(altered(random, object));
  const body = random.below(2) === 0 ? mangled(random, text) : text;
  const type = random.pick(bodyTypes);
  const prefix = type.endsWith("protobuf") ? Buffer.from("k8s\0") : Buffer.alloc(0);
  return {
    method: "POST",
    path: `${path}?dryRun=All&fieldValidation=${random.pick(["Strict", "Warn", "Ignore"])}`,
    type,
    body: Buffer.concat([prefix, Buffer.from(body)]),
  };
}

function patch(random: Random): Sent {
  const type = random.pick(patchTypes);
  const operation = {
    op: random.pick(["add", "replace", "test", "move", "copy", "remove", "x"]),
    path: random.pick(["/metadata/labels/a", "/data/k", "/data/~2", "/data/-", "", "x", "/kind"]),
    from: "/data/k",
    value: random.pick(strangers),
  };
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "victim", labels: { a: "b" } },
    data: { k: "v", $patch: "replace" },
  };
  const text = JSON.stringify(altered(random, type.includes("json-patch") ? [operation] : object));
  const body = random.below(3) === 0 ? mangled(random, text) : text;
  return {
    method: "PATCH",
    path: `${namespace}/configmaps/victim?dryRun=All&fieldManager=m&fieldValidation=Strict`,
    type,
    body,
  };
}

function list(random: Random): Sent {
  const [path] = random.pick(objects);
  const query = random.pick(queries);
  const [name = "", text = ""] = query.split(/=(.*)/s);
  const value = mangled(random, decodeURIComponent(text));
  const odd = random.below(2) === 0;
  const shown = odd ? `${name}=${encodeURIComponent(value.toString())}` : `${query}${value}`;
  return { method: "GET", path: encodeURI(`${path}?`) + shown.replaceAll(/[\s#\0]/g, "") };
}

function continued(random: Random): Sent {
  const token = { v: "meta.k8s.io/v1", rv: 5, start: "default/a\0" };
  const text = JSON.stringify(altered(random, token));
  const odd = Buffer.from(random.below(2) === 0 ? mangled(random, text) : text);
  const shown = odd.toString("base64url");
  const value = random.below(4) === 0 ? mangled(random, shown).toString() : shown;
  return {
    method: "GET",
    path: `${namespace}/configmaps?limit=1&continue=${encodeURIComponent(value)}`,
  };
}

function remove(random: Random): Sent {
  const options = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds: 5,
    preconditions: { uid: "a", resourceVersion: "5" },
    propagationPolicy: "Foreground",
    dryRun: ["All"],
  };
  const text = JSON.stringify(altered(random, options));
  return {
    method: "DELETE",
    path: `${namespace}/configmaps/victim?dryRun=All`,
    type: random.pick(bodyTypes),
    body: random.below(2) === 0 ? mangled(random, text) : text,
  };
}

describe("messages of failures", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "victim" } };
    const answer = await server.fetch(`${namespace}/configmaps`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, data: { k: "v" } }),
    });
    assert.equal(answer.status, 201);
  });
  after(() => server.close());

  async function told({ method, path, type, body }: Sent): Promise<string> {
    const answer = await server.fetch(path, {
      method,
      ...(type === undefined ? {} : { headers: { "content-type": type } }),
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    const warning = answer.headers.get("warning") ?? "";
    return answer.status < 400 ? warning : `${warning} ${text}`;
  }

  for (const [what, make] of Object.entries({ create, patch, list, continued, remove })) {
    it(`contain no text of the JavaScript engine: ${what} (SEED=${seed})`, async () => {
      const random = seededRandom(`${seed} ${what}`);
      let refused = 0;
      for (let round = 0; round < rounds; round++) {
        const sent = make(random);
        const text = await told(sent);
        if (text !== "") refused++;
        const body = Buffer.from(sent.body ?? "").toString("latin1");
        const request = `${sent.method} ${sent.path} ${sent.type} ${body}`;
        const story = `seed ${seed}, round ${round}: ${request}: ${text}`;
        assert.doesNotMatch(text, engineWords, story);
      }
      assert.ok(refused > rounds / 10, `${refused} of ${rounds} refused`);
    });
  }
});
