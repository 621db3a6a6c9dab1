/** Clients of a cluster through the proxy of its recording. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, request } from "node:https";
import path from "node:path";
import { text } from "node:stream/consumers";
import { type Endpoint, parseKubeconfig } from "#request";
import { recordedRequests, type RunningServer } from "../index.ts";
import type { RecordOptions } from "./record.ts";
import { call, RecordingScene, until } from "./testing.ts";
import { customResourceDefinition } from "../../crd/testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

interface Sent {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

describe("the proxy of a recording", () => {
  let scene: RecordingScene;
  let original: RunningServer;
  let endpoint: Endpoint;
  let agent: Agent;
  let stop: () => Promise<void>;

  async function serve(options: Partial<RecordOptions> = {}): Promise<void> {
    const life = new AbortController();
    let done = Promise.resolve("");
    const file = await new Promise<string>((ready, fail) => {
      const proxy = { port: 0, ready };
      done = scene.record(original, { proxy, ...options }, life.signal);
      done.catch(fail);
    });
    endpoint = parseKubeconfig(readFileSync(file, "utf8"), () => "");
    stop = async () => {
      life.abort();
      await done;
    };
  }

  beforeEach(async () => {
    scene = new RecordingScene();
    agent = new Agent({ keepAlive: true });
    original = await scene.start({ port: 0 });
    stop = async () => undefined;
  });
  afterEach(async () => {
    agent.destroy();
    await stop();
    await scene.end();
  });

  async function open(url: string, { method = "GET", body, headers = {} }: Sent = {}) {
    const { tls } = endpoint;
    const authorization = endpoint.authorization()!;
    const sent = { authorization, "content-type": "application/json", ...headers };
    const { origin } = endpoint.url;
    const asked = request(new URL(url, origin), { ...tls, agent, method, headers: sent });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    return response;
  }
  const send = async (url: string, sent?: Sent) => {
    const response = await open(url, sent);
    return { code: response.statusCode, body: JSON.parse(await text(response)) as any };
  };
  const post = (url: string, body: object) => send(url, { method: "POST", body });
  const filesBelow = () => readdirSync(scene.directory, { recursive: true }).map(String);

  it("forwards requests with the credentials of the cluster, and records what they write", async () => {
    await call(original, configMaps, { metadata: { name: "before" } });
    await serve();
    assert.equal((await post(configMaps, { metadata: { name: "made" } })).code, 201);
    assert.equal((await send(`${configMaps}/before`, { method: "DELETE" })).code, 200);
    const { body } = await send("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      method: "POST",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    assert.ok(body.status.userInfo.groups.includes("system:masters"));
    await stop();
    const names = readdirSync(path.join(scene.directory, "namespaces/default/configmaps"));
    assert.deepEqual([names.includes("made.yaml"), names.includes("before.yaml")], [true, false]);
    const copy = await scene.start({ from: scene.directory });
    assert.equal((await call(copy, `${configMaps}/made`)).metadata.name, "made");
  });

  it("forwards watches event by event, and their end", async () => {
    await serve();
    const response = await open(`${configMaps}?watch=true`);
    const lines = response.setEncoding("utf8")[Symbol.asyncIterator]();
    await call(original, configMaps, { metadata: { name: "seen" } });
    let seen = "";
    while (!seen.includes('"seen"')) {
      const { value, done } = await lines.next();
      assert.ok(!done, seen);
      seen += value;
    }
    const closed = original.close();
    while ((await lines.next()).done !== true);
    await closed;
    const late = await send(configMaps);
    assert.equal(late.code, 503);
    assert.match(late.body.message, /^error trying to reach the upstream: /);
    await assert.rejects(stop(), /^RecordError: not recorded: the last changes: /);
    stop = async () => undefined;
  });

  it("forwards connections that switch protocols", async () => {
    await serve();
    const asked = request(new URL(`${configMaps}?watch=true`, endpoint.url.origin), {
      ...endpoint.tls,
      headers: {
        authorization: endpoint.authorization()!,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
      },
    });
    asked.end();
    const [response, socket] = await once(asked, "upgrade");
    assert.equal(response.statusCode, 101);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    await call(original, configMaps, { metadata: { name: "framed" } });
    await until(() => (received.includes('"framed"') ? true : undefined));
    const closed = once(socket, "close");
    await stop();
    await closed;
    const found = recordedRequests(scene.directory).list({ verb: "watch" });
    assert.deepEqual([found.length, found[0]?.status], [1, 101]);
  });

  it("watches kinds that are defined later", async () => {
    await serve({ namespaces: ["default"] });
    await post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      customResourceDefinition({ plural: "gadgets", kind: "Gadget" }),
    );
    const gadgets = "/apis/example.com/v1/namespaces/default/gadgets";
    const gadget = { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g" } };
    await until(async () => ((await post(gadgets, gadget)).code === 201 ? true : undefined));
    await stop();
    const copy = await scene.start({ from: scene.directory });
    assert.equal((await call(copy, `${gadgets}/g`)).metadata.name, "g");
  });

  it("serves clients by token only, on loopback and over TLS only", async () => {
    await serve();
    assert.equal(endpoint.url.hostname, "127.0.0.1");
    for (const authorization of ["", "Bearer wrong", `Bearer ${original.token}`]) {
      const { code } = await send("/api", { headers: { authorization } });
      assert.equal(code, 401, authorization);
    }
    const upgrade = { authorization: "", connection: "Upgrade", upgrade: "websocket" };
    assert.equal((await send(`${configMaps}?watch=1`, { headers: upgrade })).code, 401);
    const plain = plainRequest(`http://${endpoint.url.host}/api`);
    plain.end();
    await assert.rejects(once(plain, "response"));
    const named = { "x-remote-user": "mallory", "x-remote-group": "none" };
    assert.equal((await send(configMaps, { headers: named })).code, 200);
    await stop();
    assert.deepEqual(
      recordedRequests(scene.directory)
        .list()
        .map(({ path: url }) => url),
      [configMaps],
    );
  });

  it("records requests without queries, credentials and values of Secrets", async () => {
    await serve();
    const secrets = "/api/v1/namespaces/default/secrets";
    const secret = { metadata: { name: "password" }, stringData: { key: "hunter2" } };
    assert.equal((await post(secrets, secret)).code, 201);
    const service = `${configMaps.replace("configmaps", "services")}/absent/proxy/hunter2`;
    assert.equal((await send(service)).code, 404);
    assert.equal((await send(`${configMaps}?labelSelector=key%3Dhunter2`)).code, 200);
    const file = path.join(scene.directory, "proxy.kubeconfig");
    const token = endpoint.authorization()!.slice("Bearer ".length);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await stop();
    assert.equal(existsSync(file), false);
    for (const each of filesBelow()) {
      const found = path.join(scene.directory, each);
      if (!statSync(found).isFile()) continue;
      const written = readFileSync(found, "utf8");
      for (const word of ["hunter2", "aHVudGVyMg", token, original.token]) {
        assert.ok(!written.includes(word), `${each} has ${word}`);
      }
    }
    const requests = recordedRequests(scene.directory);
    requests.expectAtMost(1, { verb: "write" });
    assert.throws(() => requests.expectAtMost(0, { verb: "write" }), /create .*secrets 201/);
    const [created] = requests.list({ resource: "secrets" });
    assert.equal(created?.method, "POST");
    assert.ok(created.durationMs > 0);
  });
});
