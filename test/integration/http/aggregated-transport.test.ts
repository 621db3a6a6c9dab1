/** The transport to aggregated servers, without an API server in front. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { type ApiService, BackendError, Backends, type ClientCertificate } from "#aggregator";
import { seededRandom, systemClock } from "#base";
import { issueCertificate, type KeyPair } from "#pki";
import { AggregatedBackend, cut, seenBy, sendJson, testAuthority } from "./aggregated-backend.ts";
import { ordinaryDialer } from "../../../pkg/request/testing.ts";

const hosts = ["far.default.svc"];
const user = { name: "vera", uid: "", groups: ["devs"], extra: new Map() };

describe("transport to aggregated servers", () => {
  let authority: KeyPair;
  let life: AbortController;
  let ports: number[] = [];
  let client: ClientCertificate | undefined;
  let backends: Backends;
  const started: AggregatedBackend[] = [];

  before(async () => void (authority = await testAuthority()));
  beforeEach(() => {
    life = new AbortController();
    ports = [];
    client = undefined;
    const reader = {
      service: async () => ({ spec: { ports: [{ port: 443 }] } }),
      slices: async () =>
        ports.map((port) => ({ ports: [{ port }], endpoints: [{ addresses: ["127.0.0.1"] }] })),
    };
    const random = seededRandom(7);
    const dialer = ordinaryDialer;
    const common = { reader, dialer, random, clock: systemClock, signal: life.signal };
    backends = new Backends({ ...common, routing: "any", client: () => client });
  });
  afterEach(async () => {
    life.abort();
    await Promise.all(started.splice(0).map((each) => each.stop()));
  });

  async function start(http2: boolean): Promise<AggregatedBackend> {
    const backend = await AggregatedBackend.start({ authority, hosts, http2 });
    backend.handlers.set("seen", async (...exchange) => sendJson(exchange, await seenBy(exchange)));
    started.push(backend);
    ports.push(backend.port);
    return backend;
  }

  const apiService = (): ApiService => ({
    metadata: { name: "v1.a.example.com", uid: "1", resourceVersion: "1" },
    spec: {
      group: "a.example.com",
      version: "v1",
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { namespace: "default", name: "far" },
      caBundle: Buffer.from(authority.certificate).toString("base64"),
    },
  });

  function send(
    path: string,
    given: { method?: string; body?: Uint8Array; timeoutMs?: number } = {},
  ) {
    const { signal } = life;
    return backends.send(apiService(), {
      method: "GET",
      path,
      headers: {},
      user,
      signal,
      ...given,
    });
  }

  async function textOf(path: string, given = {}): Promise<string> {
    const { body } = await send(path, given);
    let text = "";
    for await (const chunk of body) text += String(chunk);
    return text;
  }

  async function closedPort(): Promise<number> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { readonly port: number };
    server.close();
    await once(server, "close");
    return port;
  }

  for (const http2 of [true, false]) {
    describe(http2 ? "HTTP/2" : "HTTP/1.1", () => {
      it("tries another endpoint when one refuses connections", async () => {
        await start(http2);
        ports.push(await closedPort(), await closedPort());
        for (let i = 0; i < 20; i++) assert.match(await textOf("/seen"), /"x-remote-user":"vera"/);
      });

      it("carries many requests at once", async () => {
        const backend = await start(http2);
        const count = http2 ? 500 : 100;
        const all = Array.from({ length: count }, (_, index) =>
          textOf("/seen", { method: "POST", body: Buffer.from(`body ${index}`) }),
        );
        const texts = await Promise.all(all);
        texts.forEach((text, index) => assert.equal(JSON.parse(text).body, `body ${index}`));
        assert.equal(backend.paths.length, count);
      });

      it("is not blocked by bodies that are not read", async () => {
        const backend = await start(http2);
        backend.handlers.set("endless", (_request, response) => {
          response.writeHead(200);
          const chunk = Buffer.alloc(64 * 1024);
          const more = () => {
            while (!response.destroyed && response.write(chunk));
          };
          response.on("drain", more);
          more();
        });
        const unread = await Promise.all(Array.from({ length: 50 }, () => send("/endless")));
        for (let i = 0; i < 50; i++) assert.match(await textOf("/seen"), /vera/);
        for (const { body } of unread) body.destroy();
      });

      it("limits the time of a slow body", async () => {
        const backend = await start(http2);
        let hasClosed: () => void;
        const closed = new Promise<void>((resolve) => (hasClosed = resolve));
        const reached: string[] = [];
        backend.handlers.set("drip", (_request, response) => {
          reached.push("/drip");
          response.writeHead(200);
          const timer = setInterval(() => void response.write("."), 5);
          response.on("close", () => {
            clearInterval(timer);
            hasClosed();
          });
        });
        const isLate = (error: unknown) =>
          error instanceof BackendError && error.failure === "timeout";
        // On a slow machine the limit may pass before the request arrives.
        for (let timeoutMs = 150; reached.length === 0; timeoutMs *= 2) {
          await assert.rejects(textOf("/drip", { timeoutMs }), isLate);
        }
        await closed;
        backend.handlers.set("silent", () => undefined);
        await assert.rejects(send("/silent", { timeoutMs: 50 }), isLate);
      });

      it("reports a truncated body", async () => {
        const backend = await start(http2);
        backend.handlers.set("short", (_request, response) => {
          response.writeHead(200, http2 ? {} : { "content-length": "100" });
          response.write("half");
          setImmediate(() => cut(response));
        });
        await assert.rejects(textOf("/short"), BackendError);
        assert.match(await textOf("/seen"), /vera/);
      });

      it("presents a renewed certificate on new connections", async () => {
        await start(http2);
        const leaf = { usage: "client", validDays: 1, now: Date.now() } as const;
        for (const commonName of ["first", "second"]) {
          client = await issueCertificate(authority, { ...leaf, commonName });
          assert.equal(JSON.parse(await textOf("/seen")).client, commonName);
        }
      });

      it("aborts the exchange when the caller aborts", async () => {
        const backend = await start(http2);
        let hasClosed: () => void;
        const closed = new Promise<void>((resolve) => (hasClosed = resolve));
        backend.handlers.set("silent", (_request, response) =>
          response.on("close", () => hasClosed()),
        );
        const left = new AbortController();
        const request = { method: "GET", path: "/silent", headers: {}, user, signal: left.signal };
        const sent = backends.send(apiService(), request);
        while (!backend.paths.includes("/silent")) await textOf("/seen");
        left.abort(new Error("gone"));
        await assert.rejects(sent, /^Error: gone$/);
        await closed;
      });
    });
  }

  it("reports missing endpoints, and endpoints that do not respond", async () => {
    const none = { failure: "unresolved", message: 'no endpoints available for service "far"' };
    await assert.rejects(send("/"), none);
  });

  it("reports a refused connection", async () => {
    const port = await closedPort();
    ports.push(port);
    const message = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
    await assert.rejects(send("/"), { failure: "unreachable", message });
  });
});
