/**
 * Hostile patches, applied configurations and managedFields against a whole server: each gets its Status,
 * with work bounded by the size of the request, and stored objects stay valid. The message of a failure
 * contains the seed.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const seed = process.env["SEED"] ?? String(Date.now() % 1_000_000);
const rounds = Number(process.env["ROUNDS"] ?? 200);

const types = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;
type PatchType = keyof typeof types;

interface Outcome {
  readonly status: number;
  readonly body: any;
}

let server: RunningServer;

async function send(method: string, path: string, init: RequestInit = {}): Promise<Outcome> {
  const answer = await server.fetch(path, { method, ...init });
  return { status: answer.status, body: await answer.json() };
}

function patch(path: string, type: PatchType, body: unknown): Promise<Outcome> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return send("PATCH", path, { body: text, headers: { "content-type": types[type] } });
}

function post(path: string, body: unknown): Promise<Outcome> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return send("POST", path, { body: text, headers: { "content-type": "application/json" } });
}

function assertRefused(answer: Outcome, code: number, message: RegExp): void {
  const said = JSON.stringify(answer.body).slice(0, 400);
  assert.equal(answer.status, code, said);
  assert.equal(answer.body.kind, "Status");
  assert.match(answer.body.message, message);
}

const container = { name: "c", image: "i" };
const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "victim" },
  spec: { selector: { matchLabels: { a: "b" } }, template },
};
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "victim" } };

function times<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_each, n) => make(n));
}

/** `{"a":{"a":..1..}}` */
function deep(depth: number, name = "a"): string {
  return `${`{"${name}":`.repeat(depth)}1${"}".repeat(depth)}`;
}

interface Attack {
  readonly what: string;
  readonly path: string;
  readonly type: PatchType;
  readonly body: unknown;
  readonly code: number;
  readonly message: RegExp;
}

/** Operations whose result is deeper than each of them. */
const burial = [
  { op: "add", path: "/data", value: JSON.parse(deep(900)) },
  ...times(100, (n) => [
    { op: "add", path: `/grave${n}`, value: JSON.parse(deep(900)) },
    { op: "move", from: "/data", path: `/grave${n}${"/a".repeat(900)}` },
    { op: "move", from: `/grave${n}`, path: "/data" },
  ]).flat(),
];

const doubling = [
  { op: "add", path: "/data/a", value: "x".repeat(100) },
  ...times(40, () => ({ op: "copy", from: "/data", path: "/data/b" })),
];

const listing = [
  { op: "add", path: "/x", value: times(60_000, () => 0) },
  ...times(9_000, () => ({ op: "add", path: "/x/0", value: 0 })),
];

const repeated = times(16_000, (n) => ({ name: "c", env: [{ name: `e${n}` }] }));
const inTemplate = (spec: unknown): unknown => ({ spec: { template: { spec } } });
const names = times(20_000, (n) => ({ name: `n${n}` }));

const attacks: readonly Attack[] = [
  {
    what: "40,000 operations",
    path: `${maps}/victim`,
    type: "json",
    body: `[${times(40_000, () => '{"op":"test"}').join(",")}]`,
    code: 413,
    message: /maximum operations in a JSON patch is 10000, got 40000$/,
  },
  {
    what: "copies that double",
    path: `${maps}/victim`,
    type: "json",
    body: doubling,
    code: 422,
    message: /./,
  },
  {
    what: "moves that bury",
    path: `${maps}/victim`,
    type: "json",
    body: burial,
    code: 400,
    message: /exceeds the depth/,
  },
  {
    what: "insertions before 60,000",
    path: `${maps}/victim`,
    type: "json",
    body: listing,
    code: 413,
    message: /too many elements/,
  },
  ...["999999999999999", "-999999999999999", "1e3", "4294967296", "__proto__", "length"].map(
    (index): Attack => ({
      what: `index ${index}`,
      path: `${deployments}/victim`,
      type: "json",
      body: [{ op: "add", path: `/spec/template/spec/containers/${index}`, value: container }],
      code: 422,
      message: /./,
    }),
  ),
  {
    what: "a pointer into itself",
    path: `${maps}/victim`,
    type: "json",
    body: [{ op: "move", from: "/metadata", path: "/metadata/labels/a" }],
    code: 422,
    message: /./,
  },
  {
    what: "a pointer of a million steps",
    path: `${maps}/victim`,
    type: "json",
    body: [{ op: "add", path: "/a".repeat(1_000_000), value: 1 }],
    code: 422,
    message: /./,
  },
  ...(["__proto__", "constructor", "toString"] as const).map((name): Attack => ({
    what: `a path through ${name}`,
    path: `${maps}/victim`,
    type: "json",
    body: [{ op: "add", path: `/${name}/polluted`, value: "yes" }],
    code: 422,
    message: /./,
  })),
  ...(["merge", "strategic"] as const).map((type): Attack => ({
    what: `depth of 5,000`,
    path: `${maps}/victim`,
    type,
    body: deep(5_000),
    code: 400,
    message: /depth/,
  })),
  {
    what: "depth of 50,000",
    path: `${maps}/victim`,
    type: "merge",
    body: deep(50_000),
    code: 400,
    message: /depth/,
  },
  {
    what: "depth of 40,000",
    path: `${maps}/victim?fieldManager=m`,
    type: "apply",
    body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":${deep(40_000)}}`,
    code: 400,
    message: /./,
  },
  {
    what: "depth of 5,000",
    path: `${maps}/victim?fieldManager=m`,
    type: "apply",
    body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":${deep(5_000)}}`,
    code: 400,
    message: /max depth/,
  },
  {
    what: "one element 16,000 times",
    path: `${deployments}/victim`,
    type: "strategic",
    body: inTemplate({ containers: repeated }),
    code: 413,
    message: /too many elements/,
  },
  {
    what: "an order of 20,000",
    path: `${deployments}/victim`,
    type: "strategic",
    body: inTemplate({ "$setElementOrder/containers": names, containers: names.toReversed() }),
    code: 500,
    message: /doesn't match \$setElementOrder list/,
  },
  ...[5, "x", null, { a: 1 }].map((keys): Attack => ({
    what: `$retainKeys: ${JSON.stringify(keys)}`,
    path: `${deployments}/victim`,
    type: "strategic",
    body: { spec: { strategy: { $retainKeys: keys, type: "Recreate" } } },
    code: 400,
    message: /invalid patch format of retainKeys/,
  })),
  ...[[], {}, 7].map((directive): Attack => ({
    what: `$patch: ${JSON.stringify(directive)}`,
    path: `${deployments}/victim`,
    type: "strategic",
    body: inTemplate({ containers: [{ $patch: directive, name: "c" }] }),
    code: 500,
    message: /unknown patch type/,
  })),
  {
    what: "more than 3 MB",
    path: `${maps}/victim`,
    type: "merge",
    body: { data: { a: "x".repeat(3_200_000) } },
    code: 413,
    message: /too large/,
  },
];

describe("hostile patches", function () {
  before(async () => {
    server = await startServer({ controllers: false });
    assert.equal((await post(maps, configMap)).status, 201);
    assert.equal((await post(deployments, deployment)).status, 201);
  });
  after(() => server.close());

  for (const { what, path, type, body, code, message } of attacks) {
    it(`${type}, ${what}: ${code}`, async () => {
      const [where = ""] = path.split("?");
      const before = await send("GET", where);
      assertRefused(await patch(path, type, body), code, message);
      assert.deepEqual(await send("GET", where), before, "it was changed");
      assert.equal(({} as { readonly polluted?: unknown }).polluted, undefined);
    });
  }

  const odd = `{"op":"test","path":"/metadata/name","value":"victim","odd":1}`;
  const warned: readonly (readonly [PatchType, string])[] = [
    [
      "apply",
      `{"apiVersion":"v1","kind":"ConfigMap",${times(9_000, () => '"data":{}').join(",")}}`,
    ],
    ["json", `[${times(9_000, () => odd).join(",")}]`],
    ["merge", `{${times(9_000, (n) => `"odd${n}":1`).join(",")}}`],
  ];
  for (const [type, body] of warned) {
    it(`${type}: clients can read a response with warnings about 9,000 unknown fields`, async () => {
      const answer = await server.fetch(`${maps}/victim?fieldManager=m&dryRun=All`, {
        method: "PATCH",
        body,
        headers: { "content-type": types[type] },
      });
      assert.equal(answer.status, 200, await answer.text());
      const warning = answer.headers.get("warning") ?? "";
      assert.ok(warning.includes("299 - ") && warning.length < 10_000, `${warning.length}`);
    });
  }

  it("treat __proto__ as a key", async () => {
    const body = '{"data":{"__proto__":"1","constructor":"2"}}';
    for (const type of ["merge", "strategic"] as const) {
      assert.equal((await patch(`${maps}/victim`, type, body)).status, 200);
    }
    const added = [{ op: "add", path: "/data/__proto__", value: "3" }];
    const { body: object } = await patch(`${maps}/victim`, "json", added);
    assert.deepEqual(Object.entries(object.data), [
      ["__proto__", "3"],
      ["constructor", "2"],
    ]);
    const applied = `{"apiVersion":"v1","kind":"ConfigMap","data":{"__proto__":"4"}}`;
    const forced = `${maps}/victim?fieldManager=m&force=true`;
    const { body: after } = await patch(forced, "apply", applied);
    assert.deepEqual(Object.entries(after.data), [
      ["__proto__", "4"],
      ["constructor", "2"],
    ]);
  });
});

const entry = {
  manager: "liar",
  operation: "Apply",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  time: "2020-01-01T00:00:00Z",
};
const own = { "f:data": { "f:a": {} } };

/** Values of a ConfigMap's managedFields in requests. */
const lies: readonly (readonly [what: string, entries: unknown])[] = [
  ["10,000 managers", times(10_000, (n) => ({ ...entry, manager: `m${n}`, fieldsV1: own }))],
  ["10,000 updaters", times(10_000, (n) => ({ ...entry, operation: "Update", manager: `m${n}` }))],
  [
    "a set of 50,000",
    [{ ...entry, fieldsV1: { "f:data": Object.fromEntries(times(5e4, (n) => [`f:k${n}`, {}])) } }],
  ],
  ["deep sets", [{ ...entry, fieldsV1: JSON.parse(deep(2_000, "f:a").replace("1", "{}")) }]],
  ["a version of nowhere", [{ ...entry, apiVersion: "v9", fieldsV1: own }]],
  ["a version that is none", [{ ...entry, apiVersion: "a/b/c", fieldsV1: own }]],
  ["fields of __proto__", [JSON.parse('{"fieldsV1":{"f:__proto__":{"f:a":{}}}}')]],
  ["numbers for fields", [{ ...entry, fieldsV1: { "f:data": 5 } }]],
  ["unknown steps", [{ ...entry, fieldsV1: { "z:what": {}, "f:data": { "q:x": {} } } }]],
  ["steps that are none", [{ ...entry, fieldsV1: { "": {}, x: {}, "k:{": {}, "i:1e9": {} } }]],
  ["keys of no item", [{ ...entry, fieldsV1: { "f:data": { 'k:{"a":[[[1]]]}': {} } } }]],
  ["values of any kind", [{ ...entry, fieldsV1: { "f:data": { 'v:{"a":{"b":null}}': {} } } }]],
  ["an unknown operation", [{ ...entry, operation: "Steal", fieldsV1: own }]],
  ["another type of fields", [{ ...entry, fieldsType: "FieldsV9", fieldsV1: own }]],
  ["an odd time", [{ ...entry, time: "9999-12-31T23:59:59Z", fieldsV1: own }]],
  ["an unknown subresource", [{ ...entry, subresource: "nothing", fieldsV1: own }]],
  ["a long name", [{ ...entry, manager: "m".repeat(10_000), fieldsV1: own }]],
];

describe("invalid managedFields", function () {
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  for (const [what, managedFields] of lies) {
    it(`${what}: rejected with a Status or accepted, and can be reset`, async () => {
      const name = `lie-${what.replace(/[^a-z]+/g, "-")}x`.toLowerCase();
      const lying = { ...configMap, metadata: { name, managedFields }, data: { a: "1" } };
      const created = await post(maps, lying);
      assertSane(created, what);
      if (created.status !== 201) await post(maps, { ...lying, metadata: { name } });
      const where = `${maps}/${name}`;
      assertSane(await patch(where, "merge", { metadata: { managedFields } }), what);
      assertSane(await patch(where, "merge", { data: { a: "2", b: "1" } }), what);
      const cleared = await patch(where, "merge", { metadata: { managedFields: [{}] } });
      assert.equal(cleared.status, 200, JSON.stringify(cleared.body).slice(0, 300));
      const told = `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"3"}}`;
      const applied = await patch(`${where}?fieldManager=honest&force=true`, "apply", told);
      assert.equal(applied.status, 200, JSON.stringify(applied.body).slice(0, 300));
      assert.equal(applied.body.data.a, "3");
    });
  }
});

function assertSane({ status, body }: Outcome, what: string): void {
  const said = `${status} ${JSON.stringify(body).slice(0, 300)} for ${what}`;
  assert.ok(status < 500 || /managed fields|convert/.test(body.message), said);
  if (status >= 400) assert.equal(body.kind, "Status", said);
}

describe("random patches", function () {
  before(async () => {
    server = await startServer({ controllers: false });
    assert.equal((await post(deployments, deployment)).status, 201);
  });
  after(() => server.close());

  it(`keep a Deployment valid (${rounds} patches, SEED=${seed})`, async () => {
    const random = seededRandom(seed);
    for (let round = 0; round < rounds; round++) {
      const type = random.pick(["json", "merge", "strategic", "apply"] as const);
      const body = arbitraryPatch(random, type);
      const why = `seed ${seed}, round ${round}: ${type} ${JSON.stringify(body)}`;
      const manager = `fieldManager=m${random.below(5)}`;
      const forced = type === "apply" ? `&force=${random.next() < 0.5}` : "";
      const where = `${deployments}/victim`;
      const answer = await patch(`${where}?${manager}${forced}`, type, body);
      if (answer.status >= 400) assert.equal(answer.body.kind, "Status", why);
      assert.notEqual(answer.body.reason, "InternalError", why);
      const { body: now } = await send("GET", where);
      assert.equal(now.kind, "Deployment", why);
      // A replace with the stored object succeeds.
      const { status, body: same } = await send("PUT", `${where}?dryRun=All`, {
        body: JSON.stringify(now),
        headers: { "content-type": "application/json" },
      });
      assert.equal(status, 200, `${why}: ${JSON.stringify(same).slice(0, 400)}`);
      assert.equal(same.metadata.generation, now.metadata.generation, why);
    }
  });
});

const fields = [
  "metadata",
  "labels",
  "annotations",
  "finalizers",
  "spec",
  "replicas",
  "template",
  "containers",
  "name",
  "image",
  "env",
  "ports",
  "containerPort",
  "strategy",
  "$patch",
  "$retainKeys",
  "$setElementOrder/containers",
  "$deleteFromPrimitiveList/finalizers",
  "__proto__",
  "status",
] as const;

/** Parts of a Deployment, at paths where they may be invalid. */
function arbitraryValue(random: Random, depth: number): unknown {
  const kind = random.below(depth > 4 ? 5 : 9);
  if (kind === 0) return null;
  if (kind === 1) return random.below(5);
  if (kind === 2) return random.pick(["delete", "replace", "merge", "c", "x", "example.com/f", ""]);
  if (kind === 3) return random.next() < 0.5;
  if (kind === 4) return random.pick([1e300, -1, 2 ** 53, "\u0000", "😀"]);
  const count = random.below(4);
  if (kind === 5) return times(count, () => arbitraryValue(random, depth + 1));
  const name = (): string => random.pick(fields);
  const members = times(count, () => [name(), arbitraryValue(random, depth + 1)] as const);
  return Object.fromEntries(members);
}

/** Half of the operations use paths of a Deployment. */
function arbitraryPatch(random: Random, type: PatchType): unknown {
  if (type === "json") {
    const path = (): string =>
      random.pick([
        "",
        "/spec",
        "/spec/replicas",
        "/metadata/labels",
        "/metadata/labels/a",
        "/metadata/uid",
        "/spec/template/spec/containers/0",
        "/spec/template/spec/containers/-",
        "/status",
        "//",
        "/spec/template/spec/containers/0/env",
        "/metadata/managedFields",
        "/~1~0",
        "/kind",
      ]);
    const op = (): string => random.pick(["add", "remove", "replace", "move", "copy", "test"]);
    return times(1 + random.below(4), () => {
      return { op: op(), path: path(), from: path(), value: arbitraryValue(random, 2) };
    });
  }
  const inner = arbitraryValue(random, 1);
  const spec = random.next() < 0.5 ? inner : inTemplate({ containers: [container, inner] });
  const body = random.next() < 0.3 ? inner : { spec, metadata: { labels: inner } };
  if (type !== "apply") return body;
  return { ...(body as object), apiVersion: "apps/v1", kind: "Deployment" };
}
