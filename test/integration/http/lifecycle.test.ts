/** Start, health checks and shutdown of a server, over real connections. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { connect, type ClientHttp2Session } from "node:http2";
import { request as httpsRequest } from "node:https";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** An HTTP/2 connection of the administrator. */
function open(server: RunningServer): ClientHttp2Session {
  const session = connect(server.url, { rejectUnauthorized: false });
  session.on("error", () => undefined);
  return session;
}

interface Asked {
  readonly answer: Promise<Answer>;
  /** Resolves when the response starts. */
  readonly began: Promise<void>;
}

function ask(session: ClientHttp2Session, path: string, { token }: RunningServer): Asked {
  const stream = session.request({ ":path": path, authorization: `Bearer ${token}` });
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  const began = new Promise<void>((resolve) => stream.once("response", () => resolve()));
  const answer = new Promise<Answer>((resolve, reject) => {
    let head: Readonly<Record<string, unknown>> = {};
    stream.once("response", (headers) => (head = headers));
    stream.once("end", () => resolve({ status: Number(head[":status"]), headers: head, text }));
    stream.once("error", reject);
  });
  return { answer, began };
}

/** Sends a request on a new connection. */
function askOnce(server: RunningServer, path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${server.token}` };
  return new Promise((resolve, reject) => {
    const options = { headers, rejectUnauthorized: false, agent: false };
    const request = httpsRequest(`${server.url}${path}`, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => (text += part));
      answer.once("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
      );
    });
    request.once("error", reject).end();
  });
}

describe("graceful shutdown", () => {
  it("fails readyz while requests are still served", async () => {
    const server = await startServer({ port: 0, controllers: false });
    assert.match((await askOnce(server, "/readyz?verbose")).text, /\[\+\]shutdown ok/);
    const closed = server.close({ delayMs: 4_000 });
    const ready = await askOnce(server, "/readyz?verbose");
    assert.equal(ready.status, 500);
    assert.match(ready.text, /\[-\]shutdown failed: reason withheld\nreadyz check failed/);
    assert.equal((await askOnce(server, "/livez")).status, 200);
    assert.equal((await askOnce(server, "/api/v1/namespaces")).status, 200);
    await closed;
    await assert.rejects(askOnce(server, "/livez"), /ECONNREFUSED/);
  });

  it("spreads the ends of watches over the configured time", async () => {
    const server = await startServer({ port: 0, controllers: false });
    const session = open(server);
    const ends: number[] = [];
    const watches = Array.from({ length: 20 }, () =>
      ask(session, "/api/v1/namespaces?watch=1", server),
    );
    await Promise.all(watches.map(({ began }) => began));
    const started = performance.now();
    const ended = watches.map(({ answer }) =>
      answer.then(({ status, text }) => {
        ends.push(performance.now() - started);
        assert.equal(status, 200);
        assert.match(text, /\n$/);
      }),
    );
    await server.close({ spreadMs: 3_000 });
    await Promise.all(ended);
    assert.ok(ends.at(-1)! - ends[0]! > 500, ends.join());
  });

  it("can respond 429 to new requests instead of refusing connections", async () => {
    const lifecycle = { retryAfterWhenClosing: true };
    const server = await startServer({ port: 0, controllers: false, lifecycle });
    // The server waits for the request whose body is incomplete.
    const authorization = `Bearer ${server.token}`;
    const slow = httpsRequest(`${server.url}/api/v1/namespaces`, {
      method: "POST",
      headers: { authorization, "content-length": 35, expect: "100-continue" },
      rejectUnauthorized: false,
      agent: false,
    });
    const created = new Promise((resolve) => {
      slow.once("response", (answer) => resolve(answer.resume().statusCode));
    });
    slow.flushHeaders();
    await new Promise((resolve) => slow.once("continue", resolve));
    const closed = server.close();
    const put = await askOnce(server, "/api/v1/namespaces");
    assert.equal(put.status, 429);
    assert.equal(put.headers["retry-after"], "5");
    assert.match(put.text, /shutting down, please try again later/);
    assert.equal((await askOnce(server, "/readyz")).status, 500);
    slow.end('{"metadata":{"name":"in-the-end1"}}');
    assert.equal(await created, 201);
    await closed;
    await assert.rejects(askOnce(server, "/livez"));
  });

  it("sends GOAWAY to some clients, without losing a request", async () => {
    const lifecycle = { goawayChance: 1 };
    const server = await startServer({ port: 0, controllers: false, lifecycle });
    const session = open(server);
    let goaways = 0;
    session.on("goaway", (code) => {
      assert.equal(code, 0);
      goaways++;
    });
    const { status } = await ask(session, "/api/v1/namespaces", server).answer;
    assert.equal(status, 200);
    if (!session.closed) await new Promise((resolve) => session.once("close", resolve));
    assert.ok(goaways > 0);
    await server.close();
  });
});

describe("health", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  async function text(path: string): Promise<string> {
    const answer = await server.fetch(path);
    return `${answer.status} ${await answer.text()}`;
  }

  it("has a check for each step of the startup", async () => {
    const ready = await text("/readyz?verbose");
    for (const name of [
      "ping",
      "log",
      "etcd",
      "etcd-readiness",
      "informer-sync",
      "poststarthook/rbac/bootstrap-roles",
      "poststarthook/bootstrap-controller",
      "shutdown",
    ]) {
      assert.ok(ready.includes(`[+]${name} ok\n`), ready);
    }
    assert.equal(await text("/livez/poststarthook/rbac/bootstrap-roles"), "200 ok");
    assert.match(await text("/livez/shutdown"), /^404 /);
    const live = await text("/livez?verbose&exclude=etcd&exclude=nope");
    assert.match(live, /\[\+\]etcd excluded: ok/);
    assert.match(live, /warn: some health checks cannot be excluded: no matches for "nope"/);
    assert.doesNotMatch(live, /\]informer-sync|etcd-readiness/);
  });

  it("has its own metrics page, /metrics/slis", async () => {
    await text("/readyz");
    const slis = await text("/metrics/slis");
    assert.match(slis, /kubernetes_healthcheck\{name="etcd",type="readyz"\} 1/);
    const total = /kubernetes_healthchecks_total\{name="ping",type="readyz",status="success"\} \d/;
    assert.match(slis, total);
    assert.doesNotMatch(slis, /apiserver_request/);
  });
});

describe("metrics of a server", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
  });
  after(() => server.close());

  async function post(path: string, body: object): Promise<void> {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    await (await server.fetch(path, init)).text();
  }

  async function metrics(): Promise<string> {
    return (await server.fetch("/metrics")).text();
  }

  it("count requests with Kubernetes' labels", async () => {
    const path = "/api/v1/namespaces/default/configmaps";
    await post(path, { metadata: { name: "a" } });
    await (await server.fetch(`${path}/a`)).text();
    await (await server.fetch(path)).text();
    await (await server.fetch(`${path}/none`)).text();
    const life = new AbortController();
    const watch = await server.fetch(`${path}?watch=1`, { signal: life.signal });
    const reader = watch.body!.getReader();
    await reader.read();
    const apply = { "content-type": "application/apply-patch+yaml" };
    const body = "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n";
    const applied = `${path}/a?fieldManager=me&force=true`;
    await (await server.fetch(applied, { method: "PATCH", headers: apply, body })).text();
    const all = await metrics();
    const labels = (verb: string, scope: string) =>
      `verb="${verb}",dry_run="",group="",version="v1",resource="configmaps",subresource="",` +
      `scope="${scope}",component="apiserver"`;
    for (const line of [
      `apiserver_request_total{${labels("POST", "resource")},code="201"} 1`,
      `apiserver_request_total{${labels("GET", "resource")},code="200"} 1`,
      `apiserver_request_total{${labels("GET", "resource")},code="404"} 1`,
      `apiserver_request_total{${labels("APPLY", "resource")},code="200"} 1`,
      'apiserver_current_inflight_requests{request_kind="mutating"} 0',
      `apiserver_request_duration_seconds_count{${labels("LIST", "namespace")}} 1`,
      `apiserver_request_sli_duration_seconds_count{${labels("LIST", "namespace")}} 1`,
      `longrunning_requests{${labels("WATCH", "namespace").replace('dry_run="",', "")}} 1`,
      'apiserver_watch_events_total{group="",version="v1",resource="configmaps"} 1',
      'step_admission_duration_seconds_count{type="admit",operation="CREATE",rejected="false"} ',
      'controller_admission_duration_seconds_count{name="PodSecurity",type="validate",',
      'kubernetes_feature_enabled{name="ImageVolume",stage="BETA"} 0',
      'apiserver_watch_cache_initializations_total{group="",resource="configmaps"} 1',
      'apiserver_storage_objects{resource="namespaces"} 4',
      'etcd_requests_total{operation="update",group="",resource="configmaps"} 1',
    ]) {
      assert.ok(all.includes(line), line);
    }
    life.abort();
    await reader.cancel().catch(() => undefined);
  });

  it("measure the latency from a write to its watch event", async () => {
    const path = "/api/v1/namespaces/default/secrets";
    const life = new AbortController();
    const watch = await server.fetch(`${path}?watch=1`, { signal: life.signal });
    const reader = watch.body!.getReader();
    await post(path, { metadata: { name: "delivered" } });
    await reader.read();
    const all = await metrics();
    const name = 'keelson_watch_delivery_seconds_bucket{group="",resource="secrets",le="60"}';
    assert.ok(all.includes(`${name} 1\n`), all.match(/keelson_watch_delivery.*/g)?.join("\n"));
    life.abort();
    await reader.cancel().catch(() => undefined);
  });

  it("pass promtool, except for names of Kubernetes", async function () {
    if (spawnSync("promtool", ["--version"]).error) this.skip();
    const checked = spawnSync("promtool", ["check", "metrics"], {
      input: await metrics(),
      encoding: "utf8",
    });
    // Each version of promtool knows more rules of naming, which names of Kubernetes break.
    const naming =
      /^(?!keelson_)\w+ (?:.* should (?:not )?(?:have|include|contain|be)|use base unit)\b/;
    const complaints = `${checked.stdout}${checked.stderr}`.split("\n").filter(Boolean);
    assert.deepEqual(
      complaints.filter((line) => !naming.test(line)),
      [],
    );
  });

  it("do not grow with labels that clients choose", async () => {
    const linesAfter = async (name: string): Promise<number> => {
      await (await server.fetch(`/apis/${name}.example.org/${name}/${name}`)).text();
      await (await server.fetch(`/api/v1/namespaces/${name}/pods/${name}/${name}`)).text();
      await (await server.fetch(`/${name}`, { method: name })).text();
      await (await server.fetch(`/api/v1/pods?dryRun=${name}`)).text();
      return (await metrics()).split("\n").length;
    };
    // Background work of the server may still add lines.
    let before = await linesAfter("a");
    let unchanged = 0;
    for (let round = 0; unchanged < 3; round++) {
      assert.ok(round < 20, "lines were added all the time");
      const now = await linesAfter(`b${round}`);
      unchanged = now === before ? unchanged + 1 : 0;
      before = now;
    }
  });

  it("are reset by DELETE", async () => {
    await post("/api/v1/namespaces/default/secrets", { metadata: { name: "reset" } });
    const created = /^apiserver_request_total\{verb="POST".*resource="secrets".*\} (\d+)$/m;
    assert.notEqual(created.exec(await metrics())?.[1] ?? "0", "0");
    const reset = await server.fetch("/metrics", { method: "DELETE" });
    assert.equal(reset.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(await reset.text(), "metrics reset\n");
    assert.equal(created.exec(await metrics())?.[1] ?? "0", "0");
  });
});
