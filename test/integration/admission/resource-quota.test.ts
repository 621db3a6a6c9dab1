/** ResourceQuotas with admission, which charges usage, and the controller, which recalculates it. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

describe("ResourceQuota admission and controller", () => {
  let server: RunningServer;
  const troubles: string[] = [];
  /** A namespace for each test. */
  let core: string;
  let count = 0;
  before(async () => {
    server = await startServer({ port: 0, report: (what) => troubles.push(what) });
  });
  beforeEach(async () => {
    const name = `team-${count++}`;
    core = `/api/v1/namespaces/${name}`;
    await send("POST", "/api/v1/namespaces", { metadata: { name } });
    await until(`${core}/serviceaccounts/default`, isThere);
    await until(`${core}/configmaps/kube-root-ca.crt`, isThere);
  });
  after(async () => {
    await server.close();
    assert.deepEqual(troubles, []);
  });

  const isThere = ({ metadata }: any) => metadata?.uid !== undefined;

  async function send(method: string, path: string, object?: object): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const answer = await server.fetch(path, { method, headers: { "content-type": type }, ...body });
    return { code: answer.status, ...((await answer.json()) as object) };
  }

  async function until(path: string, wanted: (answer: any) => boolean): Promise<any> {
    for (let tries = 0; ; tries++) {
      const answer = await send("GET", path);
      if (wanted(answer)) return answer;
      assert.ok(tries < 2400, JSON.stringify(answer));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  const limit = (name: string, hard: object, rest: object = {}) =>
    send("POST", `${core}/resourcequotas`, { metadata: { name }, spec: { hard, ...rest } });

  /** Waits until the quota's status has this usage. */
  const uses = (name: string, used: Record<string, string>) =>
    until(`${core}/resourcequotas/${name}`, ({ status }) =>
      Object.entries(used).every(([resource, amount]) => status?.used?.[resource] === amount),
    );

  const pod = (name: string, rest: object = {}) => {
    const resources = { requests: { cpu: "250m" } };
    const containers = [{ name: "c", image: "i", resources }];
    return send("POST", `${core}/pods`, { metadata: { name }, spec: { containers, ...rest } });
  };
  const codeOf = async (answer: Promise<any>) => (await answer).code;

  it("count objects, reject those above the limit, and release deleted ones", async () => {
    const maps = `${core}/configmaps`;
    await send("POST", maps, { metadata: { name: "a" } });
    await limit("maps", { configmaps: "3", "count/deployments.apps": "0" });
    await uses("maps", { configmaps: "2", "count/deployments.apps": "0" });
    assert.equal(await codeOf(send("POST", maps, { metadata: { name: "b" } })), 201);
    const refused = await send("POST", maps, { metadata: { name: "c" } });
    assert.equal(refused.code, 403);
    assert.match(
      refused.message,
      /exceeded quota: maps, requested: configmaps=1, used: configmaps=3/,
    );
    await send("DELETE", `${maps}/a`);
    await uses("maps", { configmaps: "2" });
    assert.equal(await codeOf(send("POST", maps, { metadata: { name: "c" } })), 201);
    await send("PATCH", `${core}/resourcequotas/maps`, { spec: { hard: { secrets: "5" } } });
    await uses("maps", { configmaps: "3", secrets: "0" });
  });

  it("count pods within their scopes until they terminate", async () => {
    await limit("all", { pods: "9", "requests.cpu": "1" });
    await limit("timed", { pods: "1" }, { scopes: ["Terminating"] });
    await uses("all", { pods: "0", "requests.cpu": "0" });
    await uses("timed", { pods: "0" });
    assert.equal(await codeOf(pod("a")), 201);
    assert.equal(await codeOf(pod("b", { activeDeadlineSeconds: 5 })), 201);
    await uses("all", { pods: "2", "requests.cpu": "500m" });
    assert.equal(await codeOf(pod("c", { activeDeadlineSeconds: 5 })), 403);
    await send("PATCH", `${core}/pods/b/status`, { status: { phase: "Succeeded" } });
    await uses("timed", { pods: "0" });
    await uses("all", { pods: "1", "requests.cpu": "250m" });
    assert.equal(await codeOf(pod("c", { activeDeadlineSeconds: 5 })), 201);
  });

  it("count the node ports of services", async () => {
    await limit("ports", { services: "2", "services.nodeports": "1" });
    await uses("ports", { services: "0", "services.nodeports": "0" });
    const service = (name: string, type: string) =>
      send("POST", `${core}/services`, {
        metadata: { name },
        spec: { type, ports: [{ port: 1 }] },
      });
    assert.equal(await codeOf(service("a", "NodePort")), 201);
    assert.equal(await codeOf(service("b", "NodePort")), 403);
    assert.equal(await codeOf(service("b", "ClusterIP")), 201);
    await send("DELETE", `${core}/services/a`);
    await uses("ports", { services: "1", "services.nodeports": "0" });
  });

  it("count custom resources once they are served", async () => {
    const name = "count/books.example.com";
    await limit("books", { [name]: "1" });
    const names = { plural: "books", kind: "Book" };
    const schema = { openAPIV3Schema: { type: "object" } };
    await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "books.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names,
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    });
    await uses("books", { [name]: "0" });
    const books = `${core.replace("/api/v1", "/apis/example.com/v1")}/books`;
    const book = (title: string) =>
      send("POST", books, {
        apiVersion: "example.com/v1",
        kind: "Book",
        metadata: { name: title },
      });
    assert.equal(await codeOf(book("a")), 201);
    assert.equal(await codeOf(book("b")), 403);
    await send("DELETE", `${books}/a`);
    await uses("books", { [name]: "0" });
  });

  it("never admit more than the hard limit while usage is recalculated", async () => {
    const secrets = `${core}/secrets`;
    await limit("few", { secrets: "5" });
    await uses("few", { secrets: "0" });
    const all = Array.from({ length: 40 }, async (_none, index) => {
      const code = await codeOf(send("POST", secrets, { metadata: { name: `s${index}` } }));
      // Deletions make the controller recalculate usage during admission of other pods.
      if (code === 201 && index % 2 === 0) await send("DELETE", `${secrets}/s${index}`);
    });
    await Promise.all(all);
    const { items } = await send("GET", secrets);
    assert.ok(items.length <= 5, `${items.length}`);
    await uses("few", { secrets: String(items.length) });
  });
});
