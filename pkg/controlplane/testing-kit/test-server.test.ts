import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestServer, testServer, type TestServerOptions } from "./index.ts";
import { customResourceDefinition } from "../../crd/testing.ts";

const collection = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

describe("testServer", () => {
  const running: TestServer[] = [];
  const start = async (options: TestServerOptions = { controllers: false }) => {
    const server = await testServer(options);
    running.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  async function send(server: TestServer, method: string, url: string, object?: object) {
    const headers = { "content-type": "application/json", "user-agent": "subject/1" };
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const response = await server.fetch(url, { method, headers, ...body });
    const answer: any = await response.json();
    return { status: response.status, headers: response.headers, body: answer };
  }

  const names = async (server: TestServer): Promise<readonly string[]> =>
    (await send(server, "GET", collection)).body.items.map((item: any) => item.metadata.name);

  describe("state", () => {
    it("forks isolated servers, each with its own faults and requests", async () => {
      const first = await start();
      await first.apply(configMap("common"));
      const second = await first.fork();
      running.push(second);
      await first.apply(configMap("first"));
      await second.apply(configMap("second"));
      second.faults.next({ verb: "list", fail: 500 });
      assert.deepEqual(await names(first), ["common", "first"]);
      assert.equal((await send(second, "GET", collection)).status, 500);
      assert.deepEqual(await names(second), ["common", "second"]);
      assert.deepEqual([first.requests.count(), second.requests.count()], [1, 2]);
    });

    it("restores a snapshot repeatedly, and resets to the initial state", async () => {
      const server = await start();
      await server.apply(configMap("kept"));
      const snapshot = server.snapshot();
      for (const name of ["a", "b"]) {
        await server.apply(configMap(name));
        server.faults.next({ verb: "list", fail: 429 });
        await server.restore(snapshot);
        assert.deepEqual(await names(server), ["kept"]);
        assert.equal(server.requests.count(), 1);
      }
      await server.reset();
      assert.deepEqual(await names(server), []);
    });

    it("runs concurrent resets one after the other", async () => {
      const server = await start({ controllers: false, port: 0 });
      await server.apply(configMap("a"));
      await Promise.all([server.reset(), server.reset(), server.reset()]);
      assert.deepEqual(await names(server), []);
    });

    it("applies its faults and request log to the snapshot of another server", async () => {
      const first = await start();
      const second = await first.fork();
      running.push(second);
      await second.apply(configMap("forked"));
      await first.restore(second.snapshot());
      assert.deepEqual(await names(first), ["forked"]);
      assert.deepEqual([first.requests.count(), second.requests.count()], [1, 0]);
    });

    it("keeps URL and credentials of a listening server, and shares them with forks", async () => {
      const server = await start({ controllers: false, port: 0 });
      const { url, token, kubeconfig } = server;
      await server.reset();
      assert.deepEqual([server.url, server.token, server.kubeconfig], [url, token, kubeconfig]);
      const fork = await server.fork();
      running.push(fork);
      assert.notEqual(fork.url, url);
      assert.equal(fork.kubeconfig.replace(fork.url, url), kubeconfig);
    });

    it("advances virtual time, which a fork copies and a reset restores", async () => {
      const virtualTime = { start: "2030-01-01T00:00:00Z" };
      const server = await start({ controllers: false, virtualTime });
      await server.clock.advance(3_600_000);
      const fork = await server.fork();
      running.push(fork);
      await fork.clock.advance(3_600_000);
      const created = async (one: TestServer) =>
        (await one.apply(configMap("now")))[0]!.metadata["creationTimestamp"];
      assert.equal(await created(server), "2030-01-01T01:00:00Z");
      assert.equal(await created(fork), "2030-01-01T02:00:00Z");
      await server.reset();
      assert.equal(await created(server), "2030-01-01T00:00:00Z");
    });

    it("has no clock with real time", async () => {
      const server = await start();
      assert.throws(() => server.clock, /virtualTime/);
    });
  });

  describe("apply", () => {
    it("applies objects, Lists, files and YAML documents", async () => {
      const server = await start();
      const folder = await mkdtemp(path.join(tmpdir(), "keelson-fixtures-"));
      try {
        const file = path.join(folder, "one.yaml");
        await writeFile(file, JSON.stringify(configMap("from-file")));
        const list = { apiVersion: "v1", kind: "List", items: [configMap("from-list")] };
        const yaml =
          "---\n# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
        const flow = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: flow } }";
        const applied = await server.apply(configMap("object"), list, file, yaml, flow);
        assert.deepEqual(
          applied.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
          [
            "ConfigMap object",
            "ConfigMap from-list",
            "ConfigMap from-file",
            "Namespace team",
            "ConfigMap flow",
          ],
        );
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    it("applies custom resources right after their definition", async () => {
      const server = await start();
      const definition = customResourceDefinition({ plural: "boats", kind: "Boat" });
      const boat = { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "tug" } };
      const [, stored] = await server.apply(definition, boat);
      assert.equal(stored?.kind, "Boat");
    });

    it("rejects values that are not objects, and kinds that are not served", async () => {
      const server = await start();
      await assert.rejects(server.apply({ kind: "ConfigMap" }), /needs apiVersion, kind and/);
      const unknown = { apiVersion: "v1", kind: "Ship", metadata: { name: "a" } };
      await assert.rejects(server.apply(unknown), /no matches for kind "Ship"/);
    });
  });

  describe("waitFor", () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const status = (value: object) =>
      ["/api/v1/namespaces/default/pods/p/status", { ...pod, status: value }] as const;

    it("follows an object from its creation to its deletion", async () => {
      const server = await start();
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
      await server.apply(account);
      const created = server.waitFor(pod, "create");
      const running = server.waitFor(pod, "jsonpath={.status.phase}=Running");
      const ready = server.waitFor(pod, "condition=ready");
      const gone = created.then(() => server.waitFor(pod, "delete"));
      await server.apply(pod);
      assert.equal((await created)?.kind, "Pod");
      const conditions = [{ type: "Ready", status: "True" }];
      const sent = await send(server, "PUT", ...status({ phase: "Running", conditions }));
      assert.equal(sent.status, 200);
      assert.equal((await running)?.["status"].phase, "Running");
      assert.equal((await ready)?.metadata.name, "p");
      const unready = await server.waitFor(pod, (object) => object["status"].phase === "Running");
      assert.equal(unready?.metadata.name, "p");
      await send(server, "DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
      assert.equal(await gone, undefined);
      assert.equal(server.requests.count({ verb: "watch" }), 0, "the kit is not recorded");
    });

    it("fails after the timeout, and names the object", async () => {
      const server = await start();
      const object = configMap("a", { colour: "blue" });
      await server.apply(object);
      const waiting = server.waitFor(object, "condition=Ready", { timeoutMs: 20 });
      await assert.rejects(
        waiting,
        /timed out after 20 ms waiting for condition=Ready of ConfigMap.v1 default\/a/,
      );
    });

    it("rejects invalid conditions", async () => {
      const server = await start();
      await assert.rejects(server.waitFor(configMap("a"), "ready"), /unrecognized condition/);
      await assert.rejects(server.waitFor(configMap("a"), "jsonpath={.a[}"), /invalid JSONPath/);
    });
  });

  describe("faults", () => {
    for (const [fail, status, reason] of [
      [409, 409, "Conflict"],
      [410, 410, "Expired"],
      [429, 429, "TooManyRequests"],
      [500, 500, "InternalError"],
      [503, 503, "ServiceUnavailable"],
      ["timeout", 504, "Timeout"],
    ] as const) {
      it(`fails the next requests that match with ${fail}`, async () => {
        const server = await start();
        await server.apply(configMap("a"));
        server.faults.next({ verb: "update", resource: "configmaps", times: 2, fail });
        const update = () => send(server, "PUT", `${collection}/a`, configMap("a"));
        assert.equal((await send(server, "GET", `${collection}/a`)).status, 200);
        const { body, headers } = await update();
        assert.deepEqual([body.code, body.reason], [status, reason]);
        assert.equal(headers.get("retry-after"), fail === 429 ? "1" : null);
        assert.equal((await update()).status, status);
        assert.equal((await update()).status, 200);
        assert.equal(server.requests.list({ verb: "update" })[0]?.fault, String(fail));
      });
    }

    it("responds to a create with AlreadyExists for 409, and stores nothing", async () => {
      const server = await start();
      server.faults.next({ verb: "write", fail: 409 });
      const { body } = await send(server, "POST", collection, configMap("a"));
      assert.equal(body.reason, "AlreadyExists");
      assert.deepEqual(await names(server), []);
    });

    it("delays slow requests by the cluster's clock", async () => {
      const server = await start({ controllers: false, virtualTime: true });
      server.faults.next({ resource: "configmaps", fail: "slow", delayMs: 60_000 });
      let isAnswered = false;
      const slow = send(server, "GET", collection).then(() => (isAnswered = true));
      await server.clock.advance(59_999);
      assert.equal(isAnswered, false);
      await server.clock.advance(1);
      await slow;
    });

    it("does not affect discovery, other resources and other clients", async () => {
      const server = await start();
      server.faults.next({ userAgent: "operator", fail: 500 });
      server.faults.next({ resource: "pods", fail: 500 });
      server.faults.next({ resource: "configmaps/status", fail: 500 });
      assert.equal((await send(server, "GET", "/api/v1")).status, 200);
      assert.equal((await send(server, "GET", collection)).status, 200);
      assert.equal(server.faults.pending(), 3);
      server.faults.clear();
      assert.equal(server.faults.pending(), 0);
    });

    it("rejects unknown faults", async () => {
      const { faults } = await start();
      assert.throws(() => faults.next({ fail: 418 as never }), /fail must be one of/);
      assert.throws(() => faults.next({ fail: 500, times: -1 }), /times must be an integer/);
      assert.throws(() => faults.next({ fail: 500, verb: "read" as never }), /unknown verb "read"/);
      assert.throws(
        () => faults.next({ fail: 500, kind: "Pod" } as never),
        /unknown member "kind"/,
      );
    });

    async function watch(server: TestServer) {
      const response = await server.fetch(`${collection}?watch=1`);
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      return async () => {
        const { value } = await reader.read();
        return value === undefined ? undefined : JSON.parse(value);
      };
    }

    it("cuts and expires open watches that match", async () => {
      const server = await start();
      const [cut, expired] = [await watch(server), await watch(server)];
      await server.apply(configMap("a"));
      assert.equal((await cut()).type, "ADDED");
      assert.equal((await expired()).type, "ADDED");
      assert.equal(server.faults.cutWatches({ resource: "secrets" }), 0);
      assert.equal(server.faults.expireWatches({ resource: "configmaps" }), 2);
      for (const next of [cut, expired]) {
        const { type, object } = await next();
        assert.deepEqual([type, object.code, object.reason], ["ERROR", 410, "Expired"]);
        assert.equal(await next(), undefined);
      }
      const other = await watch(server);
      assert.equal((await other()).type, "ADDED");
      assert.equal(server.faults.cutWatches(), 1);
      assert.equal(await other(), undefined);
    });

    it("delays events of watches by the cluster's clock", async () => {
      const server = await start({ controllers: false, virtualTime: true });
      server.faults.delayWatches(5_000, { resource: "configmaps" });
      const next = await watch(server);
      let seen: any;
      const event = next().then((value) => (seen = value));
      await server.apply(configMap("a"));
      await server.clock.advance(4_999);
      assert.equal(seen, undefined);
      await server.clock.advance(1);
      assert.equal((await event).type, "ADDED");
    });
  });

  describe("requests", () => {
    it("are recorded with client, user and status", async () => {
      const server = await start();
      await send(server, "POST", collection, configMap("a"));
      await send(server, "GET", `${collection}/b`);
      const [created, missing] = server.requests.list();
      assert.deepEqual(
        [created?.verb, created?.resource, created?.namespace, created?.status, created?.user],
        ["create", "configmaps", "default", 201, "admin"],
      );
      assert.deepEqual(
        [missing?.name, missing?.status, missing?.userAgent],
        ["b", 404, "subject/1"],
      );
    });

    it("can be asserted by number", async () => {
      const server = await start();
      const { requests } = server;
      for (const name of ["a", "b"]) await send(server, "POST", collection, configMap(name));
      requests.expectAtMost(2, { verb: "create" });
      requests.expectAtLeast(2, { verb: "write", resource: "configmaps" });
      assert.throws(() => requests.expectAtMost(1, { verb: "write" }), {
        name: "AssertionError",
        message: /at most 1 of verb write, found 2\n.* create \/api.* 201 by/,
      });
      assert.throws(() => requests.expectAtLeast(1, { verb: "delete" }), /found 0$/);
      requests.clear();
      requests.expectAtMost(0);
    });

    it("reveal a hot loop: equal requests within a short time", async () => {
      const server = await start();
      const put = () => send(server, "PUT", `${collection}/a`, configMap("a"));
      await server.apply(configMap("a"));
      for (let i = 0; i < 3; i++) await put();
      server.requests.expectNoHotLoop({ most: 3, withinMs: 60_000 });
      await put();
      const look = () => server.requests.expectNoHotLoop({ most: 3, withinMs: 60_000 });
      assert.throws(look, /a hot loop: 4 equal requests within 60000 ms\n.* update/);
    });
  });
});
