import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Clock, systemClock } from "#base";
import { type RunningServer, startServer, type StartOptions } from "../index.ts";
import { customResourceDefinition } from "../../crd/testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

async function send(
  server: RunningServer,
  method: string,
  url: string,
  object?: object,
): Promise<{ readonly status: number; readonly body: any }> {
  const init: RequestInit = { method, headers: { "content-type": "application/json" } };
  const answer = await server.fetch(
    url,
    object === undefined ? init : { ...init, body: JSON.stringify(object) },
  );
  return { status: answer.status, body: await answer.json() };
}

function named(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { from: name } };
}

async function names(server: RunningServer): Promise<string[]> {
  const { body } = await send(server, "GET", configMaps);
  return body.items.map((item: any) => item.metadata.name);
}

describe("startServer", () => {
  const running: RunningServer[] = [];
  const start = async (options: StartOptions = {}) => {
    const server = await startServer(options);
    running.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  it("serves without a port, with the system namespaces", async () => {
    const server = await start();
    assert.equal(server.url, "");
    const { status, body } = await send(server, "GET", "/api/v1/namespaces");
    assert.equal(status, 200);
    assert.deepEqual(
      body.items.map((item: any) => item.metadata.name),
      ["default", "kube-node-lease", "kube-public", "kube-system"],
    );
  });

  it("tells clients without TLS that it is there", async () => {
    const { url } = await start({ port: 0, controllers: false });
    const answer = await fetch(`${url.replace("https:", "http:")}/version`);
    assert.equal(answer.status, 400);
    assert.equal(await answer.text(), "Client sent an HTTP request to an HTTPS server.\n");
  });

  it("answers mistakes with a Status", async () => {
    const server = await start({ controllers: false });
    const { status, body } = await send(server, "GET", `${configMaps}/nothing`);
    assert.equal(status, 404);
    assert.equal(body.message, 'configmaps "nothing" not found');
  });

  it("streams a watch, which ends when the reader leaves", async () => {
    const server = await start({ controllers: false });
    const left = new AbortController();
    const watch = await server.fetch(`${configMaps}?watch=1`, { signal: left.signal });
    const reader = watch.body?.getReader();
    await send(server, "POST", configMaps, named("seen"));
    const { value } = (await reader?.read()) ?? {};
    const event = JSON.parse(Buffer.from(value ?? []).toString());
    assert.equal(event.type, "ADDED");
    assert.equal(event.object.metadata.name, "seen");
    left.abort();
  });

  it("ends a watch whose request is aborted, also after a garbage collection", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const server = await start();
    const left = new AbortController();
    const watch = await server.fetch(`${configMaps}?watch=1`, { signal: left.signal });
    const reading = watch.text();
    // Lets the work of the call end, whose objects are then collected.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    left.abort(new Error("enough"));
    await assert.rejects(reading, /enough/);
  });

  it("forks: both servers go on from the same state, apart from each other", async () => {
    const first = await start({ controllers: false });
    await send(first, "POST", configMaps, named("common"));
    const second = await first.fork();
    running.push(second);
    await send(first, "POST", configMaps, named("first"));
    await send(second, "POST", configMaps, named("second"));
    assert.deepEqual(await names(first), ["common", "first"]);
    assert.deepEqual(await names(second), ["common", "second"]);
  });

  it("forks a state as it is, without writing anything", async () => {
    const first = await start({ controllers: false });
    const schema = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes";
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";
    for (const url of [schema, role]) assert.equal((await send(first, "DELETE", url)).status, 200);
    const second = await first.fork();
    running.push(second);
    for (const url of [schema, role]) assert.equal((await send(second, "GET", url)).status, 404);
    assert.equal((await second.fetch("/readyz")).status, 200);
  });

  it("repairs what every server has after a restart, which a fork with other options is", async () => {
    const first = await start({ controllers: false });
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";
    await send(first, "DELETE", role);
    const restarted = await first.snapshot().restart();
    running.push(restarted);
    const changed = await first.fork({ featureGates: new Map() });
    running.push(changed);
    for (const server of [restarted, changed]) {
      assert.equal((await send(server, "GET", role)).status, 200);
    }
    assert.equal((await send(first, "GET", role)).status, 404);
  });

  it("forks custom resources, and the access of users", async () => {
    const first = await start({ controllers: false, tokens: 'plain,alice,1,"devs"\n' });
    const definition = customResourceDefinition(
      { plural: "boats", kind: "Boat" },
      { schema: { type: "object" } },
    );
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert.equal((await send(first, "POST", definitions, definition)).status, 201);
    const binding = {
      metadata: { name: "devs" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:kube-dns",
      },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "devs" }],
    };
    const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    assert.equal((await send(first, "POST", bindings, binding)).status, 201);
    const second = await first.fork();
    running.push(second);
    const boats = await send(second, "GET", "/apis/example.com/v1/namespaces/default/boats");
    assert.equal(boats.body.kind, "BoatList");
    const alice = { headers: { authorization: "Bearer plain" } };
    const lists = await Promise.all(
      ["services", "secrets"].map((plural) =>
        second.fetch(`/api/v1/namespaces/default/${plural}`, alice),
      ),
    );
    assert.deepEqual(
      lists.map(({ status }) => status),
      [200, 403],
    );
  });

  it("signs tokens that a fork accepts, with a key that is made when it is first used", async () => {
    const first = await start({ controllers: false });
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const account = { metadata: { name: "app" } };
    assert.equal((await send(first, "POST", accounts, account)).status, 201);
    const second = await first.fork();
    running.push(second);
    const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { status, body } = await send(second, "POST", `${accounts}/app/token`, asked);
    assert.equal(status, 201);
    const review = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: body.status.token },
    };
    const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    const other = await start({ controllers: false });
    const answers = [first, second, other].map((server) => send(server, "POST", reviews, review));
    const accepted = (await Promise.all(answers)).map(({ body }) => body.status.authenticated);
    assert.deepEqual(accepted, [true, true, undefined]);
    const keySets = [first, second].map(async (server) =>
      (await server.fetch("/openid/v1/jwks")).text(),
    );
    assert.equal(await keySets[0], await keySets[1]);
  });

  it("takes away what a deleted owner owned", async () => {
    const server = await start();
    const owner = await send(server, "POST", configMaps, named("owner"));
    const { uid } = owner.body.metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    const owned = { ...named("owned"), metadata: { name: "owned", ownerReferences } };
    await send(server, "POST", configMaps, owned);
    await send(server, "DELETE", `${configMaps}/owner`);
    for (let tries = 0; (await names(server)).includes("owned"); tries++) {
      assert.ok(tries < 600, "the dependent is still there");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  it("leaves authorization to the groups", async () => {
    const server = await start({ controllers: false, tokens: 'plain,alice,1,"devs"\n' });
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    assert.equal((await server.fetch("/api/v1/namespaces", as("plain"))).status, 403);
    assert.equal((await server.fetch("/version", as("plain"))).status, 200);
    assert.equal((await server.fetch("/api/v1/namespaces", as("wrong"))).status, 401);
  });

  it("refuses requests once it has closed", async () => {
    const server = await startServer({ controllers: false });
    assert.equal((await server.fetch("/version")).status, 200);
    await server.close();
    await assert.rejects(server.fetch("/version"), (error: Error) => {
      assert.equal(error.message, "fetch failed");
      assert.equal((error.cause as Error).message, "server closed");
      return error instanceof TypeError;
    });
  });

  it("reports an etcd that does not respond, before the start fails", async () => {
    const speed = 60;
    const clock: Clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() * speed,
      sleep: (ms, signal, options) => systemClock.sleep(ms / speed, signal, options),
    };
    const reports: string[] = [];
    const endpoints = ["http://127.0.0.1:1"];
    const report = (message: string, error: unknown) => reports.push(`${message}: ${error}`);
    await assert.rejects(
      startServer({ storage: { kind: "etcd", endpoints }, clock, report, controllers: false }),
      /ECONNREFUSED/,
    );
    assert.equal(reports[0], "Waiting for the store: no response of etcd at http://127.0.0.1:1");
    assert.equal(reports.filter((line) => line.startsWith("Waiting")).length, 1);
  });

  describe("in a directory", () => {
    let directory: string;
    beforeEach(() => {
      directory = mkdtempSync(path.join(tmpdir(), "keelson-start-"));
    });
    afterEach(() => rmSync(directory, { recursive: true, force: true }));

    it("finds objects and credentials again", async () => {
      const options: StartOptions = {
        port: 0,
        storage: { kind: "embedded", directory: path.join(directory, "store") },
        certificateDirectory: path.join(directory, "pki"),
      };
      const first = await start(options);
      await send(first, "POST", configMaps, named("kept"));
      await first.close();
      running.splice(0);
      const second = await start(options);
      assert.ok((await names(second)).includes("kept"));
      assert.equal(second.token, first.token);
      const files = readdirSync(path.join(directory, "pki")).filter(
        (name) => !name.endsWith(".crt"),
      );
      assert.deepEqual(files.sort(), [
        "admin.key",
        "admin.token",
        "apiserver.key",
        "ca.key",
        "front-proxy-ca.key",
        "front-proxy-client.key",
        "sa.key",
      ]);
      for (const name of files) {
        assert.equal(statSync(path.join(directory, "pki", name)).mode & 0o077, 0, name);
      }
    });

    it("refuses a file that holds no key for tokens", async () => {
      writeFileSync(path.join(directory, "sa.key"), "no key");
      const options = { controllers: false, certificateDirectory: directory };
      for (const more of [{ port: 0 }, {}]) {
        await assert.rejects(start({ ...options, ...more }), /service-account-signing-key-file/);
      }
    });

    it("refuses a second process on the same store", async () => {
      const storage = { kind: "embedded", directory: path.join(directory, "store") } as const;
      await start({ storage, controllers: false });
      await assert.rejects(
        start({ storage, controllers: false }),
        /another process|already open|in use/,
      );
    });
  });
});
