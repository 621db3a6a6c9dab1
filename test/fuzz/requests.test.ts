/**
 * Hostile requests against a whole server: every response is a Status (or the intended success), nothing
 * is stored, and the server continues to serve. The message of a failure contains the seed.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";

const collection = "/api/v1/namespaces/default/configmaps";
const seed = process.env["SEED"] ?? String(Date.now() % 1_000_000);
const rounds = Number(process.env["ROUNDS"] ?? 400);

interface Outcome {
  readonly status: number;
  readonly body: any;
}

/** The objects of the collection, with their versions. */
async function objectsOf(server: RunningServer): Promise<string> {
  const answer = await server.fetch(collection);
  return JSON.stringify(((await answer.json()) as any).items);
}

async function send(
  server: RunningServer,
  path: string,
  init: RequestInit & { readonly type?: string },
): Promise<Outcome> {
  const { type = "application/json" } = init;
  const answer = await server.fetch(path, { ...init, headers: { "content-type": type } });
  const text = await answer.text();
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  return { status: answer.status, body: isJson ? JSON.parse(text) : text };
}

function nested(depth: number, open: string, close: string): string {
  const data = open.repeat(depth) + close.repeat(depth);
  return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":${data}}`;
}

const valid = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "victim", labels: { a: "b" } },
  data: { k: "v" },
};

const bombs = [
  "a: &a [x,x,x,x,x,x,x,x,x,x]",
  ...["b", "c", "d", "e", "f", "g", "h"].map((name, index) => {
    const inner = `*${"abcdefg"[index]}`;
    return `${name}: &${name} [${Array.from({ length: 10 }, () => inner).join(",")}]`;
  }),
].join("\n");

/** Body, media type, the code of kube-apiserver, and a part of its message. */
const hostileBodies: readonly (readonly [string, string | Uint8Array, string, number, RegExp])[] = [
  ["empty", "", "application/json", 400, /./],
  ["cut off", '{"apiVersion":"v1","kind"', "application/json", 400, /unexpected end of JSON input/],
  ["not JSON", "\u0000\u0001", "application/json", 400, /./],
  ["an array", "[]", "application/json", 400, /./],
  ["nested objects", nested(20_000, '{"a":', "1}"), "application/json", 400, /./],
  ["nested arrays", nested(200_000, "[", "]"), "application/json", 400, /./],
  [
    "wrong type",
    JSON.stringify({ ...valid, data: 5 }),
    "application/json",
    400,
    /cannot unmarshal/,
  ],
  ["wrong kind", JSON.stringify({ ...valid, kind: "Secret" }), "application/json", 400, /Secret/],
  ["alias bomb", `apiVersion: v1\nkind: ConfigMap\n${bombs}`, "application/yaml", 400, /./],
  ["deep YAML", `${"[".repeat(20_000)}${"]".repeat(20_000)}`, "application/yaml", 400, /./],
  ["too large", `{"a":"${"x".repeat(3_200_000)}"}`, "application/json", 413, /too large/],
  ["not Protobuf", "k8s\u0000\u00ff\u00ff", "application/vnd.kubernetes.protobuf", 400, /./],
  ["unknown media", "{}", "text/plain", 415, /media type/],
  [
    "a bad name",
    JSON.stringify({ ...valid, metadata: { name: "A_" } }),
    "application/json",
    422,
    /./,
  ],
  [
    "a quantity bomb",
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "q", generation: 1e300 },
    }),
    "application/json",
    400,
    /./,
  ],
];

const hostilePaths: readonly (readonly [string, string, number])[] = [
  ["GET", "/api/v1/namespaces/default/configmaps/%00", 404],
  ["GET", "/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets", 404],
  ["GET", `${collection}?labelSelector=%3D%3D`, 400],
  ["GET", `${collection}?fieldSelector=a%3D%3D%3Db,,`, 400],
  ["GET", `${collection}?resourceVersion=-1`, 400],
  ["GET", `${collection}?resourceVersion=99999999999999999999999`, 400],
  ["GET", `${collection}?limit=abc`, 400],
  ["GET", `${collection}?continue=%00%ff`, 400],
  [
    "GET",
    `${collection}?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vIn0`,
    400,
  ],
  ["GET", `${collection}?resourceVersionMatch=Nonsense&resourceVersion=1`, 422],
  ["POST", `${collection}?dryRun=Some`, 422],
  ["PATCH", `${collection}/nothing`, 415],
  ["DELETE", `${collection}/nothing?propagationPolicy=Sometimes`, 422],
];

describe("hostile requests", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  for (const [what, body, type, status, message] of hostileBodies) {
    it(`${status} for a body that is ${what}`, async () => {
      const before = await objectsOf(server);
      const answer = await send(server, collection, { method: "POST", body, type });
      assert.equal(answer.status, status, JSON.stringify(answer.body).slice(0, 300));
      assert.equal(answer.body.kind, "Status");
      assert.match(answer.body.message, message);
      assert.equal(await objectsOf(server), before);
    });
  }

  for (const [method, path, status] of hostilePaths) {
    it(`${method} ${path.slice(0, 90)}: ${status}`, async () => {
      const body =
        method === "GET" || method === "DELETE" ? {} : { body: "{}", type: "text/plain" };
      const typed = status === 422 && method === "POST" ? { body: JSON.stringify(valid) } : body;
      const answer = await send(server, path, { method, ...typed });
      assert.equal(answer.status, status, JSON.stringify(answer.body).slice(0, 300));
      assert.equal(answer.body.code, status);
    });
  }

  it("__proto__ is a key like any other", async () => {
    const metadata = '{"name":"proto","labels":{"__proto__":"x","constructor":"y"}}';
    const typed = '"apiVersion":"v1","kind":"ConfigMap"';
    const body = `{${typed},"metadata":${metadata},"data":{"__proto__":"1"}}`;
    const created = await send(server, collection, { method: "POST", body });
    assert.equal(created.status, 422, "a label key may not begin with an underscore");
    const fine = body.replace('"__proto__":"x",', "");
    const kept = await send(server, collection, { method: "POST", body: fine });
    assert.equal(kept.status, 201, JSON.stringify(kept.body));
    const read = await (await server.fetch(`${collection}/proto`)).text();
    assert.match(read, /"data":\s*\{\s*"__proto__":\s*"1"/);
    assert.equal(({} as any).polluted, undefined);
    await server.fetch(`${collection}/proto`, { method: "DELETE" });
  });

  it(`${rounds} mangled bodies and paths (SEED=${seed})`, async () => {
    const random = seededRandom(seed);
    const before = await objectsOf(server);
    const text = JSON.stringify(valid);
    for (let round = 0; round < rounds; round++) {
      const mangled = mangle(random, Buffer.from(text));
      const type = random.pick([
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
      ]);
      const path = `${collection}?dryRun=All`;
      const answer = await send(server, path, { method: "POST", body: mangled, type });
      assertStatus(answer, `seed ${seed}, round ${round}, ${type}: ${mangled.toString("latin1")}`);
      const odd = `/${mangle(random, Buffer.from(collection.slice(1))).toString("latin1")}`;
      const read = await send(server, encodeURI(odd).replaceAll("#", "%23"), { method: "GET" });
      assertStatus(read, `seed ${seed}, round ${round}, path ${odd}`);
    }
    assert.equal(await objectsOf(server), before, `seed ${seed}: something was stored`);
  });
});

function assertStatus({ status, body }: Outcome, what: string): void {
  assert.ok(status < 500, `${status} ${JSON.stringify(body).slice(0, 300)} for ${what}`);
  if (status >= 400 && typeof body === "object") assert.equal(body.kind, "Status", what);
}

const oddities = ['"', "{", "[", "\\", "\u0000", "é", "😀", ":", ",", "/", "..", "%"];

/** Flips, cuts, repeats or inserts a few bytes. */
function mangle(random: Random, bytes: Buffer): Buffer {
  let result = Buffer.from(bytes);
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(result.length || 1);
    const kind = random.below(4);
    if (kind === 0 && result.length > 0) result[at] = random.below(256);
    else if (kind === 1) result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1)]);
    else if (kind === 2) result = Buffer.concat([result, result.subarray(at)]);
    else {
      const odd = random.pick(oddities);
      result = Buffer.concat([result.subarray(0, at), Buffer.from(odd), result.subarray(at)]);
    }
  }
  return result;
}
