import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { builtinKinds } from "#api";
import { createLogger, silentLogger } from "#base";
import { Catalog, domainOf, notFound, StatusError } from "#meta";
import type { EventBatch, Item, ItemEvent, ItemList, Registry, ResourceRequest } from "#registry";
import type { User } from "#request";
import { fromJson } from "#schema";
import {
  createServer,
  type KeelsonServer,
  type LocalRequest,
  type ServerOptions,
} from "./index.ts";

const catalog = new Catalog(builtinKinds, domainOf());
const configMaps = catalog.find("", "v1", "configmaps")!;
const user: User = { name: "ada", uid: "", groups: ["system:authenticated"], extra: new Map() };

function item(name: string, data: Record<string, string> = {}): Item {
  const value = { metadata: { name, namespace: "n" }, data };
  const stored = { kind: "ConfigMap", apiVersion: "v1", ...value };
  const metadata = { ...value.metadata, resourceVersion: "7" };
  return {
    resource: configMaps,
    key: `/configmaps/n/${name}`,
    bytes: Buffer.from(JSON.stringify(stored)),
    revision: 7,
    object: fromJson(configMaps.struct, { ...value, metadata }),
  };
}

function unused(): never {
  throw new Error("not part of this test");
}

/** A registry that answers what a test hands it. */
function registryOf(verbs: Partial<Registry>): Registry {
  const all = {
    get: unused,
    list: unused,
    watch: unused,
    watchBatches: unused,
    restore: unused,
    gates: () => false,
    adopt: unused,
    create: unused,
    update: unused,
    patch: unused,
    delete: unused,
    deleteCollection: unused,
    connect: unused,
    namespaceLifecycle: () => undefined,
    cached: () => undefined,
    isKnownEmpty: () => false,
    cachedSize: () => undefined,
  };
  return { ...all, ...verbs };
}

async function* each<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values;
}

async function* chunked(items: Iterable<Item>): AsyncGenerator<readonly Item[]> {
  for (const item of items) yield [item];
}

function listOf(items: Iterable<Item>): Promise<ItemList> {
  const chunks = chunked(items);
  return Promise.resolve({ items: each(items), chunks, revision: 9, next: undefined });
}

function batchOf(event: ItemEvent): EventBatch {
  return { events: [event], encoded: undefined };
}

function serverOf(verbs: Partial<Registry>, more: Partial<ServerOptions> = {}): KeelsonServer {
  return createServer({
    catalog,
    registry: registryOf(verbs),
    authenticator: { authenticate: async () => user },
    authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
    logger: silentLogger,
    ...more,
  });
}

async function ask(server: KeelsonServer, request: Partial<LocalRequest> & { url: string }) {
  const { status, headers, body } = await server.handle({ method: "GET", ...request });
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  return { status, headers, bytes, text: bytes.toString("utf8"), pieces: pieces.length };
}

const objectPath = "/api/v1/namespaces/n/configmaps/a";
const collectionPath = "/api/v1/namespaces/n/configmaps";

describe("server", () => {
  it("splices the version into the stored bytes", async () => {
    const server = serverOf({ get: async () => item("a", { k: "v" }) });
    const { status, headers, text } = await ask(server, { url: objectPath });
    assert.equal(status, 200);
    assert.equal(headers["cache-control"], "no-cache, private");
    assert.match(String(headers["audit-id"]), /^[0-9a-f-]{36}$/);
    assert.equal(
      text,
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a",' +
        '"namespace":"n"},"data":{"k":"v"}}\n',
    );
  });

  it("responds with the registry's failures as they are, and hides others behind an id", async () => {
    const failure = notFound({ group: "", plural: "configmaps" }, "a");
    const missing = serverOf({ get: () => Promise.reject(failure) });
    assert.equal((await ask(missing, { url: objectPath })).status, 404);
    const lines: string[] = [];
    const broken = serverOf(
      { get: () => Promise.reject(new Error("secret detail")) },
      { logger: createLogger({ write: (line) => void lines.push(line) }) },
    );
    const { status, text, headers } = await ask(broken, { url: objectPath });
    assert.equal(status, 500);
    assert.doesNotMatch(text, /secret/);
    const id = String(headers["audit-id"]);
    assert.match(lines.join(), new RegExp(`err="secret detail" audit-ID="${id}"`));
  });

  it("warns with a failure, too", async () => {
    const { status } = notFound({ group: "", plural: "configmaps" }, "a");
    const failure = new StatusError(status, {}, ['unknown field "é"', "a\nb", ""]);
    const server = serverOf({ get: () => Promise.reject(failure) });
    const { headers } = await ask(server, { url: objectPath });
    const [warning, ...others] = headers["warning"] as readonly string[];
    assert.deepEqual(others, []);
    const sent = Buffer.from(warning!, "latin1").toString("utf8");
    assert.equal(sent, '299 - "unknown field \\"é\\""');
  });

  it("tells a missing path from a missing method and a missing group", async () => {
    const server = serverOf({});
    const cases: readonly (readonly [string, string, number, RegExp])[] = [
      ["GET", "/api/v1/namespaces/n/gadgets", 404, /"reason":"NotFound"/],
      ["GET", "/api/v1/configmaps/a", 404, /"reason":"NotFound"/],
      ["GET", "/api/v1/namespaces/n/namespaces", 404, /"reason":"NotFound"/],
      ["GET", `${objectPath}/b`, 404, /"reason":"NotFound"/],
      ["POST", objectPath, 405, /"reason":"MethodNotAllowed"/],
      ["DELETE", "/api/v1/configmaps", 405, /"reason":"MethodNotAllowed"/],
      ["GET", "/apis/example.com/v1/things", 404, /^404 page not found\n$/],
      ["GET", "/nowhere", 404, /^404 page not found\n$/],
      [
        "GET",
        "/api/v1/watch",
        500,
        /^Internal Server Error: "\/api\/v1\/watch": failed to create /,
      ],
      ["PUT", "/apis/apps/v1/proxy/", 500, / from url, \/apis\/apps\/v1\/proxy\/\n$/],
      ["GET", "/api/v1/namespaces/n/watch", 404, /"reason":"NotFound"/],
    ];
    for (const [method, url, status, body] of cases) {
      const response = await ask(server, { method, url });
      assert.equal(response.status, status, url);
      assert.match(response.text, body, url);
    }
  });

  it("streams a list and stops asking for items while the reader does not read", async () => {
    let made = 0;
    function* many(): Generator<Item> {
      for (; made < 2000; made++) yield item(`i${made}`, { k: "x".repeat(1000) });
    }
    const server = serverOf({ list: () => listOf(many()) });
    const { body } = await server.handle({ method: "GET", url: collectionPath });
    const reader = body[Symbol.asyncIterator]();
    await reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert(made < 300, `${made} items were made ahead of the reader`);
    await reader.return?.();
  });

  it("prints an empty list of metadata as null and any other as []", async () => {
    const server = serverOf({ list: () => listOf([]) });
    const plain = await ask(server, { url: collectionPath });
    assert.match(plain.text, /"metadata":\{"resourceVersion":"9"\},"items":\[\]\}\n$/);
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const partial = await ask(server, { url: collectionPath, headers: { accept } });
    assert.match(partial.text, /"items":null\}\n$/);
  });

  it("compresses large responses only", async () => {
    const server = serverOf({
      get: async ({ name }: ResourceRequest) =>
        item(name, { k: "x".repeat(name === "a" ? 10 : 200_000) }),
    });
    const headers = { "accept-encoding": "deflate, gzip" };
    const small = await ask(server, { url: objectPath, headers });
    assert.equal(small.headers["content-encoding"], undefined);
    const large = await ask(server, { url: `${collectionPath}/large`, headers });
    assert.equal(large.headers["content-encoding"], "gzip");
    assert.equal(JSON.parse(gunzipSync(large.bytes).toString()).data.k.length, 200_000);
    const refused = await ask(server, { url: `${collectionPath}/large` });
    assert.equal(refused.text.length > 200_000, true);
  });

  it("refuses bodies above the limit", async () => {
    const server = serverOf({}, { limits: { bodyBytes: 10 } });
    const request = { method: "POST", url: collectionPath, body: "x".repeat(11) };
    const { status, text } = await ask(server, request);
    assert.equal(status, 413);
    assert.equal(JSON.parse(text).message, "Request entity too large: limit is 10");
  });

  it("ends a request that takes too long with 504", async () => {
    let aborted = false;
    const get = (target: ResourceRequest) =>
      new Promise<Item>(() => {
        target.context.signal.addEventListener("abort", () => (aborted = true));
      });
    const { status } = await ask(serverOf({ get }), { url: `${objectPath}?timeout=20ms` });
    assert.equal(status, 504);
    assert.equal(aborted, true);
  });

  it("hands out seats and answers 429 without one", async () => {
    const waiting: (() => void)[] = [];
    const get = () => new Promise<Item>((resolve) => waiting.push(() => resolve(item("a"))));
    const server = serverOf({ get }, { limits: { readsInFlight: 1 } });
    const first = ask(server, { url: objectPath });
    await new Promise((resolve) => setImmediate(resolve));
    const second = await ask(server, { url: objectPath });
    assert.equal(second.status, 429);
    assert.equal(second.headers["retry-after"], "1");
    waiting[0]!();
    assert.equal((await first).status, 200);
    await new Promise((resolve) => setImmediate(resolve));
    const third = ask(server, { url: objectPath });
    await new Promise((resolve) => setImmediate(resolve));
    waiting[1]!();
    assert.equal((await third).status, 200);
  });

  it("says who may not do what", async () => {
    const authorize = async () => ({ verdict: "deny", reason: "" }) as const;
    const server = serverOf({}, { authorizer: { authorize } });
    const { status, headers, text } = await ask(server, { url: objectPath });
    assert.equal(status, 403);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(
      JSON.parse(text).message,
      'configmaps "a" is forbidden: User "ada" cannot get resource "configmaps" in API group "" ' +
        'in the namespace "n"',
    );
  });

  it("returns 500 instead of 403 when authorization fails", async () => {
    const decision = { verdict: "no-opinion", reason: "", error: "hook <down>" } as const;
    const server = serverOf({}, { authorizer: { authorize: async () => decision } });
    const { status, text } = await ask(server, { url: `${objectPath}?a=b&c` });
    assert.equal(status, 500);
    const shown = `${objectPath}?a=b&amp;c`;
    assert.equal(text, `Internal Server Error: "${shown}": hook &lt;down&gt;\n`);
  });
});

describe("watches", () => {
  const url = `${collectionPath}?watch=1`;

  /** Waits for its target to be aborted after the given events. */
  function open(
    events: readonly ItemEvent[],
    aborted: () => void = () => undefined,
  ): Partial<Registry> {
    return {
      async *watchBatches({ context: { signal } }) {
        try {
          for (const event of events) yield batchOf(event);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        } finally {
          aborted();
        }
      },
    };
  }

  /** Ends after the given events. */
  function finite(events: readonly ItemEvent[]): Partial<Registry> {
    return {
      async *watchBatches() {
        for (const event of events) yield batchOf(event);
      },
    };
  }

  it("sends headers although nothing happens, and ends when the server closes", async () => {
    let aborted = false;
    const server = serverOf(open([], () => (aborted = true)));
    const { status, body } = await server.handle({ method: "GET", url });
    assert.equal(status, 200);
    const rest = body[Symbol.asyncIterator]().next();
    await server.close();
    assert.equal((await rest).done, true);
    assert.equal(aborted, true);
  });

  it("lets the registry go when the client leaves", async () => {
    const gone = new Promise<void>((resolve) => {
      const server = serverOf(open([{ type: "ADDED", item: item("a") }], resolve));
      void server.handle({ method: "GET", url }).then(async ({ body }) => {
        for await (const _piece of body) break;
      });
    });
    await gone;
  });

  it("sends a bookmark as an object with nothing but its version", async () => {
    const server = serverOf(finite([{ type: "BOOKMARK", revision: 12, initialEventsEnd: true }]));
    const { text } = await ask(server, { url });
    assert.deepEqual(JSON.parse(text), {
      type: "BOOKMARK",
      object: {
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { resourceVersion: "12", annotations: { "k8s.io/initial-events-end": "true" } },
      },
    });
  });

  it("keeps the metadata of the row that ends the initial events, and of no other", async () => {
    for (const initialEventsEnd of [true, false]) {
      for (const version of ["v1", "v1beta1"]) {
        const server = serverOf(finite([{ type: "BOOKMARK", revision: 12, initialEventsEnd }]));
        const accept = `application/json;as=Table;g=meta.k8s.io;v=${version}`;
        const asked = { url: `${url}&includeObject=None`, headers: { accept } };
        const { text } = await ask(server, asked);
        const { object } = JSON.parse(text).object.rows[0];
        const annotations = object?.metadata.annotations;
        const expected = initialEventsEnd ? { "k8s.io/initial-events-end": "true" } : undefined;
        assert.deepEqual(annotations, expected);
        assert.equal(object === null, !initialEventsEnd);
      }
    }
  });

  it("names the columns of a table in the first event only", async () => {
    const events = ["a", "b"].map((name) => ({ type: "ADDED", item: item(name) }) as const);
    const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    const server = serverOf(finite(events));
    const { text } = await ask(server, { url, headers: { accept } });
    const [first, second] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).object);
    assert.equal(first.columnDefinitions[0].name, "Name");
    assert.equal(second.columnDefinitions, null);
    assert.equal(second.rows[0].cells[0], "b");
  });

  it("responds with a failure before the first event with its status, later as an event", async () => {
    const failure = notFound({ group: "", plural: "configmaps" }, "x");
    const early = serverOf({
      // eslint-disable-next-line require-yield
      async *watchBatches() {
        throw failure;
      },
    });
    assert.equal((await ask(early, { url })).status, 404);
    const late = serverOf({
      async *watchBatches() {
        yield batchOf({ type: "ADDED", item: item("a") });
        throw failure;
      },
    });
    const { status, text } = await ask(late, { url });
    assert.equal(status, 200);
    assert.equal(JSON.parse(text.trim().split("\n")[1]!).type, "ERROR");
  });
});

describe("health", () => {
  const checks = [
    { name: "store", check: () => Promise.reject(new Error("the store is away")) },
    { name: "late", endpoints: ["readyz"], check: () => undefined },
  ] as const;

  it("names what fails without saying why, and can leave it out", async () => {
    const server = serverOf({}, { health: checks });
    const failed = await ask(server, { url: "/readyz" });
    assert.equal(failed.status, 500);
    assert.equal(
      failed.text,
      "[+]ping ok\n[+]log ok\n[-]store failed: reason withheld\n[+]late ok\n[+]shutdown ok\n" +
        "readyz check failed\n",
    );
    const excluded = await ask(server, { url: "/livez?exclude=store&exclude=x&verbose" });
    assert.equal(
      excluded.text,
      "[+]ping ok\n[+]log ok\n[+]store excluded: ok\n" +
        'warn: some health checks cannot be excluded: no matches for "x"\nlivez check passed\n',
    );
  });

  it("runs checks concurrently, and lists them in order", async () => {
    let waiting = 0;
    let release = (): void => undefined;
    const all = new Promise<void>((resolve) => {
      release = resolve;
    });
    const check = async (): Promise<void> => {
      waiting += 1;
      if (waiting === 3) release();
      await all;
    };
    const health = ["a", "b", "c"].map((name) => ({ name, check }));
    const { text } = await ask(serverOf({}, { health }), { url: "/readyz?verbose" });
    assert.match(text, /\[\+\]a ok\n\[\+\]b ok\n\[\+\]c ok\n/);
  });

  it("responds with single checks, and 404 for those that do not exist", async () => {
    const server = serverOf({}, { health: checks });
    assert.equal((await ask(server, { url: "/livez/ping" })).text, "ok");
    const store = await ask(server, { url: "/livez/store" });
    assert.equal(store.text, "internal server error: the store is away\n");
    assert.equal((await ask(server, { url: "/livez/late" })).status, 404);
    assert.equal((await ask(server, { url: "/livez/" })).status, 404);
  });

  it("is no longer ready once it closes", async () => {
    const server = serverOf({});
    const closing = server.close();
    const asked = ["/readyz", "/livez"].map((url) => ask(server, { url }));
    assert.deepEqual(
      (await Promise.all(asked)).map(({ status }) => status),
      [500, 200],
    );
    await closing;
    await assert.rejects(ask(server, { url: "/livez" }), /^TypeError: fetch failed/);
  });
});

describe("metrics", () => {
  it("counts requests by names of the catalog only", async () => {
    const server = serverOf({ get: async () => item("a") });
    await ask(server, { url: objectPath });
    await ask(server, { url: "/api/v1/namespaces/n/made-up/a" });
    const { text } = await ask(server, { url: "/metrics" });
    const counted = /apiserver_request_total\{verb="GET",.*resource="configmaps",.*code="200"\} 1/;
    assert.match(text, counted);
    assert.doesNotMatch(text, /made-up/);
    assert.match(text, /request_filter_duration_seconds_count\{filter="authorization"\} 3/);
  });
});
