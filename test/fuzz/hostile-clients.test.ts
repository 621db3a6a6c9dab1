/**
 * Clients that disconnect, do not read, send slowly or reset streams: their cost is bounded in bytes,
 * objects and seats. `hostile-clients.ts` measures it in time and memory.
 */
import assert from "node:assert/strict";
import http2 from "node:http2";
import https from "node:https";
import { builtinKinds, featureGates } from "#api";
import { silentLogger, systemClock } from "#base";
import { Catalog, domainOf } from "#meta";
import { createAuthority, issueCertificate } from "#pki";
import { createRegistry, type EventBatch, type Item, type Registry } from "#registry";
import type { Authenticator } from "#request";
import { fromJson } from "#schema";
import { createServer, type KeelsonServer, type ServerOptions } from "#server";
import { memoryBackend, objectStore } from "#storage";

const catalog = new Catalog(builtinKinds, domainOf());
const configMaps = catalog.find("", "v1", "configmaps")!;
const collection = "/api/v1/namespaces/n/configmaps";

/** The user is the value of a header. */
const byHeader: Authenticator = {
  authenticate: async ({ headersBelow }) => {
    const name = headersBelow("x-user").get("x-user")?.[0] ?? "alice";
    return { name, uid: "", groups: ["system:authenticated"], extra: new Map() };
  },
};

function serverOf(registry: Partial<Registry>, more: Partial<ServerOptions> = {}): KeelsonServer {
  return createServer({
    catalog,
    registry: registry as Registry,
    authenticator: byHeader,
    authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
    logger: silentLogger,
    ...more,
  });
}

/** Objects that count how often one of them is encoded. */
class CountedItems {
  encoded = 0;
  /** In bytes, each. */
  constructor(private readonly size: number) {}

  item(index: number): Item {
    const value = {
      metadata: { name: `c-${index}`, namespace: "n" },
      data: { text: "x".repeat(this.size) },
    };
    const bytes = Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", ...value }));
    const count = (): void => {
      this.encoded += 1;
    };
    return {
      resource: configMaps,
      key: `/configmaps/n/c-${index}`,
      get bytes() {
        count();
        return bytes;
      },
      revision: 7,
      object: fromJson(configMaps.struct, value),
    };
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe("a client that disconnects during a list", () => {
  for (const accept of [
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
  ]) {
    it(`stops its encoding: ${accept}`, async () => {
      const counted = new CountedItems(10_000);
      let taken = 0;
      async function* chunks(): AsyncGenerator<readonly Item[]> {
        for (let index = 0; index < 100_000; index++) {
          taken += 1;
          yield [counted.item(index)];
        }
      }
      const server = serverOf({
        list: async () => {
          const all = chunks();
          return { items: undefined as never, chunks: all, revision: 7, next: undefined };
        },
      });
      const response = await server.handle({ method: "GET", url: collection, headers: { accept } });
      const pieces = response.body[Symbol.asyncIterator]();
      await pieces.next();
      await pieces.return?.();
      const before = taken;
      await pause();
      assert.ok(taken - before <= 200, `${taken - before} objects were read after it had left`);
      assert.ok(taken < 10_000);
    });
  }
});

describe("a client that does not read its watch", () => {
  const eventsOf = async (size: number, accept = "application/json") => {
    const counted = new CountedItems(size);
    async function* batches(): AsyncGenerator<EventBatch> {
      const events = Array.from({ length: 500 }, (_, index) => {
        return { type: "ADDED", item: counted.item(index), encoded: undefined } as const;
      });
      yield { events, encoded: undefined };
    }
    const server = serverOf({ watchBatches: () => batches() as never });
    const url = `${collection}?watch=1`;
    const response = await server.handle({ method: "GET", url, headers: { accept } });
    const pieces = response.body[Symbol.asyncIterator]();
    const first = await pieces.next();
    await pause();
    const { encoded } = counted;
    await pieces.return?.();
    return { bytes: (first.value as Uint8Array).byteLength, encoded };
  };

  it("buffers only a few of many events", async () => {
    const { bytes, encoded } = await eventsOf(1_000);
    assert.ok(bytes <= 16 * 1024, `${bytes} bytes in one write`);
    assert.ok(encoded <= 64, `${encoded} events were encoded`);
  });

  it("buffers one large event", async () => {
    const { bytes, encoded } = await eventsOf(100_000);
    assert.ok(bytes <= 110_000, `${bytes} bytes in one write`);
    assert.ok(encoded <= 4, `${encoded} events were encoded`);
  });
});

describe("requests whose clients have disconnected", () => {
  it("are not served if their stream was reset before", async () => {
    let authenticated = 0;
    const authenticator: Authenticator = {
      authenticate: (credentials) => {
        authenticated += 1;
        return byHeader.authenticate(credentials);
      },
    };
    const server = serverOf({}, { authenticator });
    const signal = AbortSignal.abort();
    await server.handle({ method: "GET", url: collection, signal });
    assert.equal(authenticated, 0);
  });
});

describe("a path of a million slashes", () => {
  it("is parsed in linear time", async () => {
    const server = serverOf({ connect: async () => undefined });
    const path = `/api/v1/namespaces/n/pods/p/proxy/${"/".repeat(1_000_000)}x`;
    const { status } = await server.handle({ method: "GET", url: path });
    assert.equal(status, 204);
  });
});

describe("connections of hostile clients", () => {
  let server: KeelsonServer;
  let session: http2.ClientHttp2Session;
  let url: string;

  before(async () => {
    const validity = { validDays: 1, now: Date.now() };
    const authority = await createAuthority("test", validity);
    const leaf = { commonName: "server", hosts: ["127.0.0.1"], usage: "server" } as const;
    const { certificate, privateKey } = await issueCertificate(authority, { ...leaf, ...validity });
    const registry = createRegistry({
      store: objectStore(memoryBackend({ clock: systemClock }), { root: "/registry" }),
      catalog,
      clock: systemClock,
      gates: featureGates(new Map()),
      storageMediaType: "json",
      eventTtlSeconds: 3600,
      minRequestTimeoutMs: 1_800_000,
    });
    // A quarter holds 32 bodies of 16 KiB, the least that each counts.
    const limits = { writesInFlight: 16, bodyBufferBytes: 2 * 1024 * 1024 };
    const tls = { cert: certificate, key: privateKey };
    server = serverOf(registry, { tls, limits });
    await server.listen({ host: "127.0.0.1", port: 0 });
    url = `https://127.0.0.1:${server.address.port}`;
    session = http2.connect(url, { rejectUnauthorized: false });
    session.on("error", () => undefined);
    assert.equal(await post("alice", "/api/v1/namespaces", { metadata: { name: "n" } }), 201);
  });
  after(async () => {
    session.destroy();
    await server.close({ graceMs: 100 });
  });

  const start = (user: string, path: string): http2.ClientHttp2Stream => {
    const headers = { ":method": "POST", ":path": path, "content-type": "application/json" };
    return session.request({ ...headers, "x-user": user }, { endStream: false });
  };
  const statusOf = (stream: http2.ClientHttp2Stream): Promise<number> =>
    new Promise((resolve, reject) => {
      stream.once("error", reject);
      stream.once("response", (headers) => resolve(Number(headers[":status"])));
      stream.resume();
    });
  const post = (user: string, path: string, object: object): Promise<number> => {
    const stream = start(user, path);
    stream.end(JSON.stringify(object));
    return statusOf(stream);
  };

  it("occupy no seat while the body of a write arrives", async () => {
    const slow = Array.from({ length: 32 }, () => start("alice", collection));
    const statuses = slow.map(statusOf);
    for (const [index, stream] of slow.entries()) {
      stream.write(`{"metadata":{"name":"slow-${index}"`);
    }
    assert.equal(await post("bob", collection, { metadata: { name: "quick" } }), 201);
    assert.equal(await post("alice", collection, { metadata: { name: "one-more" } }), 429);
    for (const [index, stream] of slow.entries()) {
      stream.end("}}");
      assert.equal(await statuses[index], 201, `body ${index}`);
    }
    assert.equal(await post("alice", collection, { metadata: { name: "one-more" } }), 201);
  });

  it("have the same limit of headers over HTTP/1.1 and HTTP/2", async () => {
    const headersOf = (kib: number) => ({ "x-long": "x".repeat(kib * 1024) });
    for (const [kib, expected] of [
      [15, 200],
      [17, 200],
      [60, 200],
    ] as const) {
      const status = await new Promise<number>((resolve, reject) => {
        const options = { rejectUnauthorized: false, headers: headersOf(kib), agent: false };
        const request = https.get(`${url}/version`, options, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        request.on("error", reject);
      });
      assert.equal(status, expected, `${kib} KiB over HTTP/1.1`);
      const stream = session.request({ ":path": "/version", ...headersOf(kib) });
      assert.equal(await statusOf(stream), expected, `${kib} KiB over HTTP/2`);
    }
  });
});
