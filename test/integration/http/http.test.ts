import assert from "node:assert/strict";
import http2 from "node:http2";
import https from "node:https";
import { builtinKinds, featureGates } from "#api";
import { systemClock } from "#base";
import { Catalog, domainOf } from "#meta";
import { createAuthority, issueCertificate } from "#pki";
import { createRegistry } from "#registry";
import type { Authenticator } from "#request";
import { createServer, type KeelsonServer, type Limits } from "#server";
import { memoryBackend, objectStore } from "#storage";

interface Answer {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

const admin: Authenticator = {
  authenticate: async () => ({
    name: "admin",
    uid: "",
    groups: ["system:masters"],
    extra: new Map(),
  }),
};

/** A server with a memory store on a free port, and a connection to it. */
class Stand {
  private constructor(
    readonly server: KeelsonServer,
    readonly session: http2.ClientHttp2Session,
    private readonly closeStore: () => Promise<void> | void,
  ) {}

  static async open(limits: Partial<Limits> = {}, minRequestTimeoutMs = 1_800_000): Promise<Stand> {
    const validity = { validDays: 1, now: Date.now() };
    const authority = await createAuthority("test", validity);
    const leaf = { commonName: "server", hosts: ["127.0.0.1"], usage: "server" } as const;
    const { certificate, privateKey } = await issueCertificate(authority, { ...leaf, ...validity });
    const catalog = new Catalog(builtinKinds, domainOf());
    const backend = memoryBackend({ clock: systemClock });
    const registry = createRegistry({
      store: objectStore(backend, { root: "/registry" }),
      catalog,
      clock: systemClock,
      gates: featureGates(new Map()),
      storageMediaType: "json",
      eventTtlSeconds: 3600,
      minRequestTimeoutMs,
    });
    const server = createServer({
      catalog,
      registry,
      authenticator: admin,
      authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
      tls: { cert: certificate, key: privateKey },
      limits,
    });
    await server.listen({ host: "127.0.0.1", port: 0 });
    const url = `https://127.0.0.1:${server.address.port}`;
    const session = http2.connect(url, { ca: authority.certificate });
    session.on("error", () => undefined);
    const stand = new Stand(server, session, () => backend[Symbol.asyncDispose]());
    await stand.ask("/api/v1/namespaces", json({ metadata: { name: "n" } }));
    return stand;
  }

  start(path: string, { method, headers = {}, body }: Asked = {}): http2.ClientHttp2Stream {
    const stream = this.session.request(
      { ":method": method ?? (body === undefined ? "GET" : "POST"), ":path": path, ...headers },
      { endStream: body === undefined },
    );
    if (body !== undefined) stream.end(body);
    return stream;
  }

  ask(path: string, asked: Asked = {}): Promise<Answer> {
    return answerOf(this.start(path, asked));
  }

  async close(): Promise<void> {
    this.session.destroy();
    await this.server.close({ graceMs: 500 });
    await this.closeStore();
  }
}

function json(value: unknown): Asked {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function answerOf(stream: http2.ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {};
    stream.on("response", (got) => (headers = got));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("end", () =>
      resolve({ status: headers[":status"] ?? 0, headers, body: Buffer.concat(chunks) }),
    );
  });
}

/** The JSON documents of a stream, one per line. */
async function* lines(stream: http2.ClientHttp2Stream): AsyncGenerator<any> {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    const parts = (rest + (chunk as string)).split("\n");
    rest = parts.pop()!;
    for (const part of parts) yield JSON.parse(part);
  }
}

const collectionPath = "/api/v1/namespaces/n/configmaps";

describe("--min-request-timeout", () => {
  it("of 30 days keeps a watch open, although Node's timers overflow", async () => {
    const stand = await Stand.open({}, 30 * 24 * 3_600_000);
    try {
      const events = lines(stand.start(`${collectionPath}?watch=1&resourceVersion=1`));
      const first = events.next();
      const quiet = new Promise((resolve) => setTimeout(resolve, 200, "open"));
      assert.equal(await Promise.race([first, quiet]), "open");
      await stand.ask(collectionPath, json({ metadata: { name: "late" } }));
      assert.equal((await first).value.object.metadata.name, "late");
    } finally {
      await stand.close();
    }
  });
});

describe("HTTP/2", () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.open();
  });
  after(() => stand.close());

  it("reads headers that begin or end with spaces", async function () {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    // Node has the option from 24.2 on.
    if (major < 24 || (major === 24 && minor < 2)) return this.skip();
    const { headers } = await stand.ask("/api/v1/namespaces/n", {
      headers: { accept: " application/yaml " },
    });
    assert.equal(headers["content-type"], "application/yaml");
  });

  it("answers deletions whose body ends with an empty frame of its own", async () => {
    const statuses = Array.from({ length: 100 }, async () => {
      const headers = { ":method": "DELETE", ":path": `${collectionPath}/absent` };
      const stream = stand.session.request(headers, { endStream: false });
      stream.end();
      return (await answerOf(stream)).status;
    });
    assert.deepEqual(new Set(await Promise.all(statuses)), new Set([404]));
  });

  it("creates, reads, replaces, patches, lists and deletes", async () => {
    const sent = { metadata: { name: "a" }, data: { k: "1" } };
    const created = await stand.ask(collectionPath, json(sent));
    assert.equal(created.status, 201);
    const object = JSON.parse(created.body.toString());
    assert.match(object.metadata.resourceVersion, /^\d+$/);
    const read = await stand.ask(`${collectionPath}/a`);
    assert.deepEqual(JSON.parse(read.body.toString()), object);
    const replaced = await stand.ask(`${collectionPath}/a`, {
      ...json({ ...object, data: { k: "2" } }),
      method: "PUT",
    });
    assert.equal(JSON.parse(replaced.body.toString()).data.k, "2");
    const patched = await stand.ask(`${collectionPath}/a`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ data: { k: null, l: "3" } }),
    });
    assert.deepEqual(JSON.parse(patched.body.toString()).data, { l: "3" });
    const listed = JSON.parse((await stand.ask(collectionPath)).body.toString());
    assert.deepEqual(
      listed.items.map((each: any) => each.metadata.name),
      ["a"],
    );
    assert.equal(listed.items[0].kind, undefined);
    const deleted = await stand.ask(`${collectionPath}/a`, { method: "DELETE" });
    assert.equal(JSON.parse(deleted.body.toString()).status, "Success");
    assert.equal((await stand.ask(`${collectionPath}/a`)).status, 404);
  });

  it("delivers every change to a watcher in order", async () => {
    const { resourceVersion } = JSON.parse(
      (await stand.ask(collectionPath)).body.toString(),
    ).metadata;
    const stream = stand.start(`${collectionPath}?watch=1&resourceVersion=${resourceVersion}`);
    const events = lines(stream);
    await stand.ask(collectionPath, json({ metadata: { name: "w" } }));
    await stand.ask(`${collectionPath}/w`, { method: "DELETE" });
    const seen = [(await events.next()).value, (await events.next()).value];
    assert.deepEqual(
      seen.map(({ type, object }) => `${type} ${object.metadata.name}`),
      ["ADDED w", "DELETED w"],
    );
    stream.close();
  });

  it("delimits the events of a Protobuf watch by length", async () => {
    const { resourceVersion } = JSON.parse(
      (await stand.ask(collectionPath)).body.toString(),
    ).metadata;
    await stand.ask(collectionPath, json({ metadata: { name: "p" } }));
    const query = `watch=1&timeoutSeconds=1&resourceVersion=${resourceVersion}`;
    const headers = { accept: "application/vnd.kubernetes.protobuf" };
    const answer = await stand.ask(`${collectionPath}?${query}`, { headers });
    const type = "application/vnd.kubernetes.protobuf;stream=watch";
    assert.equal(answer.headers["content-type"], type);
    assert.equal(answer.body.readUInt32BE(0), answer.body.byteLength - 4);
    assert.equal(answer.body.toString("latin1", 6, 11), "ADDED");
    assert(answer.body.includes("k8s\0"));
  });

  it("survives incomplete and unread bodies without closing the connection", async () => {
    const large = "x".repeat(4 * 1024 * 1024);
    const { status } = await stand.ask(collectionPath, { ...json({}), body: large });
    assert.equal(status, 413);
    const nowhere = await stand.ask("/nowhere", { ...json({}), body: large });
    assert.equal(nowhere.status, 404);
    assert.equal((await stand.ask("/livez")).body.toString(), "ok");
  });

  it("survives five hundred watchers that disconnect at once", async () => {
    const streams = Array.from({ length: 500 }, () => stand.start(`${collectionPath}?watch=1`));
    await Promise.all(streams.map((s) => new Promise((resolve) => s.once("response", resolve))));
    for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL);
    assert.equal((await stand.ask("/livez")).status, 200);
  });

  it("rejects too many header bytes, and continues to serve", async () => {
    const stream = stand.start("/livez", { headers: { "x-much": "x".repeat(100_000) } });
    await new Promise((resolve) => {
      stream.on("error", resolve);
      stream.on("close", resolve);
      stream.on("response", resolve);
    });
    const session = http2.connect(`https://127.0.0.1:${stand.server.address.port}`, {
      rejectUnauthorized: false,
    });
    const { status } = await answerOf(session.request({ ":path": "/livez" }));
    assert.equal(status, 200);
    session.close();
  });
});

describe("HTTP/1.1", () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.open({ bodyTimeout: 200 });
  });
  after(() => stand.close());

  function request(path: string, options: https.RequestOptions = {}) {
    const { port } = stand.server.address;
    return https.request({ port, path, rejectUnauthorized: false, agent: false, ...options });
  }

  it("serves the same port", async () => {
    const text = await new Promise<string>((resolve, reject) => {
      const sent = request("/livez");
      sent.on("response", (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
        response.on("end", () => resolve(`${response.httpVersion} ${body}`));
      });
      sent.on("error", reject).end();
    });
    assert.equal(text, "1.1 ok");
  });

  it("responds with a timeout when a body does not arrive", async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": "100" };
      const sent = request(collectionPath, { method: "POST", headers });
      sent.on("response", (response) => resolve(response.resume().statusCode ?? 0));
      sent.on("error", reject);
      sent.write("{");
    });
    assert.equal(status, 504);
  });
});

describe("idle connections", () => {
  it("are closed, unless a watch is open on them", async () => {
    const stand = await Stand.open({ idleTimeout: 500 });
    const watch = stand.start(`${collectionPath}?watch=1`);
    await new Promise((resolve) => watch.once("response", resolve));
    const { port } = stand.server.address;
    const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
    const closed = new Promise((resolve) => {
      https.get({ port, path: "/livez", agent }, (response) => {
        response.resume().socket.once("close", resolve);
      });
    });
    await closed;
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(watch.closed, false);
    const left = new Promise((resolve) => stand.session.once("close", resolve));
    watch.close();
    await left;
    agent.destroy();
    await stand.close();
  });
});

describe("closing", () => {
  it("ends watches with NO_ERROR and sends GOAWAY", async () => {
    const stand = await Stand.open();
    const stream = stand.start(`${collectionPath}?watch=1`);
    await new Promise((resolve) => stream.once("response", resolve));
    const goaway = new Promise((resolve) => stand.session.once("goaway", resolve));
    const ended = answerOf(stream);
    await stand.server.close();
    assert.equal((await ended).body.byteLength, 0);
    assert.equal(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR);
    await goaway;
    await stand.close();
  });
});
