/**
 * Malformed and unusual paths: the authorized request is the served one. For any path, a response
 * contains only objects that the parsed request names, and a user with access to one object never
 * receives another. The message of a failure contains the seed.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { lacksResource, parseRequestInfo, parseTarget } from "#request";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";

const seed = process.env["SEED"] ?? String(Date.now() % 1_000_000);
const rounds = Number(process.env["ROUNDS"] ?? 500);
const watchMs = 50;
const json = { "content-type": "application/json" };
const hidden = "what-nobody-may-see";

/** Paths of the objects; user "u" may read only the first. */
const honest = [
  "/api/v1/namespaces/one/configmaps/a",
  "/api/v1/namespaces/one/configmaps/b",
  "/api/v1/namespaces/two/configmaps/a",
  "/api/v1/namespaces/one/configmaps",
  "/api/v1/namespaces/one/secrets/s",
  "/api/v1/configmaps",
  "/api/v1/watch/namespaces/one/configmaps/b",
  "/api/v1/namespaces/one",
  "/api/v1/namespaces/one/status",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
  "/metrics",
];

const insertions = [
  "/",
  "//",
  "/./",
  "/../",
  "/..;/",
  "%2f",
  "%2F",
  "%252f",
  "%2e%2e/",
  "..",
  ".",
  ";",
  ";x=y",
  "%00",
  "%0a",
  "%0d%0a",
  "%20",
  "+",
  "\\",
  "%5c",
  "?",
  "%3f",
  "#",
  "%23",
  "%",
  "%c0%af",
  "%ef%bc%8f",
  "%E2%80%AE",
  "watch/",
  "proxy/",
  "namespaces/two/",
  "configmaps/a/",
  "api/v1/",
  "@",
  "a",
];

/** Applies one to three changes: insertion, removal, upper case, repetition. */
function oddPath(random: Random): string {
  let path = random.pick(honest);
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const parts = path.split("/");
    const at = random.below(parts.length);
    const part = parts[at]!;
    const letter = random.below(path.length) + 1;
    switch (random.below(6)) {
      case 0:
        path = `${path.slice(0, letter)}${random.pick(insertions)}${path.slice(letter)}`;
        break;
      case 1:
        parts[at] = `${random.pick(insertions)}${part}`;
        path = parts.join("/");
        break;
      case 2:
        parts[at] = part.replace(/\w/g, (each) =>
          random.below(3) === 0 ? `%${each.charCodeAt(0).toString(16)}` : each,
        );
        path = parts.join("/");
        break;
      case 3:
        parts[at] = random.below(2) === 0 ? part.toUpperCase() : `${part[0]?.toUpperCase() ?? ""}`;
        path = parts.join("/");
        break;
      case 4:
        parts.splice(at, 1);
        path = parts.join("/");
        break;
      default:
        path = `${path}${random.pick(insertions)}`;
    }
  }
  return path.startsWith("/") ? path : `/${path}`;
}

describe("unusual paths", () => {
  let server: RunningServer;

  before(async () => {
    server = await startServer({ controllers: false });
    const post = async (path: string, object: object) => {
      const init = { method: "POST", headers: json, body: JSON.stringify(object) };
      assert.equal((await server.fetch(path, init)).status, 201, path);
    };
    const data = { k: hidden };
    for (const namespace of ["one", "two"]) {
      await post("/api/v1/namespaces", { metadata: { name: namespace } });
      for (const name of ["a", "b"]) {
        const isSeen = namespace === "one" && name === "a";
        const object = { metadata: { name }, ...(isSeen ? {} : { data }) };
        await post(`/api/v1/namespaces/${namespace}/configmaps`, object);
      }
      const secret = { metadata: { name: "s" }, stringData: data };
      await post(`/api/v1/namespaces/${namespace}/secrets`, secret);
    }
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/one";
    const rule = { verbs: ["*"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"] };
    await post(`${rbac}/roles`, { metadata: { name: "r" }, rules: [rule] });
    const apiGroup = "rbac.authorization.k8s.io";
    await post(`${rbac}/rolebindings`, {
      metadata: { name: "r" },
      roleRef: { apiGroup, kind: "Role", name: "r" },
      subjects: [{ kind: "User", apiGroup, name: "u" }],
    });
    for (;;) {
      const { status } = await server.fetch(honest[0]!, { headers: asU });
      if (status === 200) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  after(() => server.close());

  const asU = { "impersonate-user": "u" };

  async function get(url: string, headers: Record<string, string> = {}) {
    const { status, body } = await server.fetch(url, { headers });
    const reader = body?.getReader();
    // A watch does not end: its first event, if any, suffices.
    const isWatch = /watch/i.test(parseTarget(url)?.path ?? "");
    const limit = isWatch ? setTimeout(() => void reader?.cancel(), watchMs) : undefined;
    let text = "";
    for (;;) {
      const { value, done = true } = (await reader?.read()) ?? {};
      if (done) break;
      text += Buffer.from(value).toString();
      if (isWatch) break;
    }
    clearTimeout(limit);
    await reader?.cancel();
    return { url, status, text };
  }

  /** The objects of a response: one, those of a list, or that of an event. */
  function objectsIn(text: string): readonly any[] {
    // Discovery and version are indented; all other documents and events are lines.
    const line = text.startsWith("{\n") ? text : (text.split("\n", 1)[0] ?? "");
    const body = line.startsWith("{") ? JSON.parse(line) : {};
    if (body.type !== undefined && body.object !== undefined) return [body.object];
    if (Array.isArray(body.items)) return body.items;
    return body.metadata?.uid === undefined ? [] : [body];
  }

  it(`serve only the authorized request (${rounds} paths, SEED=${seed})`, async () => {
    const random = seededRandom(Number(seed));
    let served = 0;
    for (let round = 0; round < rounds; round++) {
      const path = oddPath(random);
      const told = `seed ${seed}, round ${round}: ${JSON.stringify(path)}`;
      const own = await get(path, asU);
      assert.ok(!own.text.includes(hidden) && !own.text.includes("d2hhdC1ub2JvZH"), told);
      const target = parseTarget(own.url);
      const info = target && parseRequestInfo("GET", target);
      // kube-apiserver has no RequestInfo for a special verb without a resource.
      const isFault = info !== undefined && lacksResource(info);
      assert.equal(own.status >= 500, isFault, `${own.status}; ${told}`);
      const whole = await get(path);
      if (target === undefined) assert.equal(whole.status, 400, told);
      const objects = whole.status === 200 ? objectsIn(whole.text) : [];
      if (objects.length === 0 || info === undefined) continue;
      served++;
      for (const { metadata } of objects) {
        assert.ok(info.isResource, told);
        if (info.name !== "") assert.equal(metadata.name, info.name, told);
        const home: string = info.resource === "namespaces" ? metadata.name : metadata.namespace;
        if (info.namespace !== "") assert.equal(home, info.namespace, told);
        const isMany = ["list", "watch"].includes(info.verb) || info.resource === "namespaces";
        assert.ok(isMany || metadata.name === info.name, told);
      }
    }
    assert.ok(served > rounds / 50, `only ${served} paths lead to objects`);
  });
});
