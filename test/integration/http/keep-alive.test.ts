/** HTTP/1.1 connections: every request on them is answered, in order, at any size and pace. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { builtinKinds } from "#api";
import { systemClock } from "#base";
import { Catalog, domainOf } from "#meta";
import { createAuthority, issueCertificate } from "#pki";
import { createRegistry } from "#registry";
import { createServer, type KeelsonServer } from "#server";
import { memoryBackend, objectStore } from "#storage";
import { RawConnection, rawRequest } from "./raw-client.ts";

const kibi = 1024;
/** Sizes of responses around the buffer sizes of Node's sockets: 16 KiB on Node 20, 64 KiB later. */
const sizes = [1, 15, 17, 63, 65, 127, 129, 1000].map((count) => count * kibi);
const objects = "/api/v1/namespaces/default/configmaps";

type Protocol = "TLS" | "TLS without HTTP/2" | "plain TCP";
const protocols: readonly Protocol[] = ["TLS", "TLS without HTTP/2", "plain TCP"];

const admin = { name: "admin", uid: "", groups: ["system:masters"], extra: new Map() };

async function tlsOf(protocol: Protocol) {
  if (protocol === "plain TCP") return undefined;
  const validity = { validDays: 1, now: Date.now() };
  const authority = await createAuthority("test", validity);
  const leaf = { commonName: "server", hosts: ["127.0.0.1"], usage: "server" } as const;
  const { certificate, privateKey } = await issueCertificate(authority, { ...leaf, ...validity });
  return { cert: certificate, key: privateKey, http2: protocol === "TLS" };
}

async function serve(protocol: Protocol): Promise<KeelsonServer> {
  const catalog = new Catalog(builtinKinds, domainOf());
  const backend = memoryBackend({ clock: systemClock });
  const registry = createRegistry({
    store: objectStore(backend, { root: "/registry" }),
    catalog,
    clock: systemClock,
    gates: () => false,
    storageMediaType: "json",
    eventTtlSeconds: 3600,
    minRequestTimeoutMs: 1_800_000,
  });
  const server = createServer({
    catalog,
    registry,
    authenticator: { authenticate: async () => admin },
    authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
    tls: await tlsOf(protocol),
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  return server;
}

const json = { "Content-Type": "application/json" };

function create(path: string, value: object): readonly string[] {
  return rawRequest({ method: "POST", path, headers: json, body: JSON.stringify(value) });
}

/** Updates an object of `size` bytes with a small body: the response has the size of the object. */
function patch(size: number, headers = {}): readonly string[] {
  const type = { "Content-Type": "application/merge-patch+json", ...headers };
  const body = JSON.stringify({ metadata: { annotations: { at: `${size}` } } });
  return rawRequest({ method: "PATCH", path: `${objects}/size-${size}`, headers: type, body });
}

/** Sends a body of `size` bytes, which is the response as well. */
function dryRun(size: number): readonly string[] {
  const value = { metadata: { generateName: "x-" }, data: { text: "x".repeat(size) } };
  return create(`${objects}?dryRun=All`, value);
}

const get = (path: string): readonly string[] => rawRequest({ method: "GET", path });

const upgradeHeaders = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

const webSocketWatch = rawRequest({
  method: "GET",
  path: `${objects}?watch=1`,
  headers: upgradeHeaders,
});

for (const protocol of protocols) {
  describe(`HTTP/1.1 over ${protocol}`, () => {
    let server: KeelsonServer;
    const open = () => RawConnection.open(server.port!, protocol !== "plain TCP");

    before(async () => {
      server = await serve(protocol);
      const connection = await open();
      await connection.send(create("/api/v1/namespaces", { metadata: { name: "default" } }));
      assert.equal((await connection.response()).status, 201);
      for (const size of sizes) {
        const value = { metadata: { name: `size-${size}` }, data: { text: "x".repeat(size) } };
        await connection.send(create(objects, value));
        assert.equal((await connection.response()).status, 201);
      }
      connection.close();
    });

    it("answers a request that follows each response at once", async () => {
      const connections = await Promise.all([open(), open(), open(), open()]);
      await Promise.all(
        connections.map(async (connection) => {
          for (const size of sizes) {
            for (const request of [patch(size), dryRun(size), get(`${objects}/size-${size}`)]) {
              await connection.send(request);
              const { status, body } = await connection.response();
              assert.ok(status === 200 || status === 201, `${status} ${body}`);
              assert.ok(body.length > size);
            }
          }
          connection.close();
        }),
      );
    });

    it("answers requests that arrive before earlier responses have been read", async () => {
      const connection = await open();
      // More than the kernel buffers, in one record: the following requests meet a full connection.
      const lists = 8;
      await connection.send([get(objects).join("").repeat(lists)]);
      await connection.head();
      connection.pause();
      for (const size of sizes) {
        await connection.send([...patch(size), ...dryRun(size), ...get("/version")]);
        await new Promise((resolve) => setImmediate(resolve));
      }
      connection.resume();
      const statuses = Array.from({ length: lists - 1 }, () => 200);
      await connection.chunks();
      for (const status of [...statuses, ...sizes.flatMap(() => [200, 201, 200])]) {
        assert.equal((await connection.response()).status, status);
      }
      connection.close();
    });

    it("answers HEAD and Expect: 100-continue after a large response", async () => {
      const connection = await open();
      await connection.send(get(objects));
      await connection.send(rawRequest({ method: "HEAD", path: "/livez" }));
      const [head = "", body = ""] = patch(sizes.at(-1)!, { Expect: "100-continue" });
      await connection.send([head]);
      assert.equal((await connection.response()).status, 200);
      assert.equal((await connection.response("HEAD")).status, 200);
      assert.equal((await connection.response()).status, 100);
      await connection.send([body]);
      assert.equal((await connection.response()).status, 200);
      connection.close();
    });

    it("answers an upgrade after the earlier requests of its connection", async () => {
      const connection = await open();
      for (const request of [patch(sizes.at(-1)!), get(objects), webSocketWatch]) {
        await connection.send(request);
      }
      for (const status of [200, 200, 101]) {
        assert.equal((await connection.response()).status, status);
      }
      connection.close();
      const next = await open();
      await next.send(get("/version"));
      assert.equal((await next.response()).status, 200);
      next.close();
    });

    it("closes although a connection has ended before the turn of its last request", async () => {
      const connection = await open();
      await connection.send([get(objects).join("").repeat(8), ...dryRun(1), ...webSocketWatch]);
      await connection.head();
      connection.close();
      // Far above the time limit of the test.
      await server.close({ graceMs: 1_000_000 });
    });
  });
}

describe("HTTPS servers", () => {
  it("all buffer data while the parser is paused", () => {
    const root = join(import.meta.dirname, "../../..");
    const servers: string[] = [];
    for (const folder of ["pkg", "cmd"]) {
      for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
        if (!name.endsWith(".ts") || name.endsWith("test.ts")) continue;
        const text = readFileSync(join(root, folder, name), "utf8");
        const isServer =
          /createServer[^;]*from "node:https"/.test(text) || /createSecureServer\(/.test(text);
        if (!isServer) continue;
        servers.push(name);
        assert.match(text, /bufferWhileParserPaused\(/, name);
      }
    }
    assert.ok(servers.length >= 5, servers.join());
  });
});
