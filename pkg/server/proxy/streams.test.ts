import assert from "node:assert/strict";
import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { Catalog, domainOf } from "#meta";
import { builtinKinds } from "#api";
import { silentLogger } from "#base";
import type { ConnectRequest, Destination, Registry, ResourceRequest } from "#registry";
import { ordinaryDialer } from "../../request/testing.ts";
import { createServer, type KeelsonServer } from "../server.ts";

interface ConnectCall {
  readonly target: ResourceRequest;
  readonly request: ConnectRequest;
}

/** Size of data that exceeds the socket buffers of a connection. */
const lastBytes = 32 * 2 ** 20;

describe("streams", () => {
  let backend: http.Server;
  let server: KeelsonServer;
  let destination: Partial<Destination> | undefined;
  let calls: ConnectCall[] = [];
  let received: { request: IncomingMessage; body: string }[] = [];

  const connect: Registry["connect"] = async (target, request) => {
    calls.push({ target, request });
    if (destination === undefined) return undefined;
    const { port } = backend.address() as AddressInfo;
    const { path, rawQuery: query } = request;
    const place = { scheme: "http", host: "127.0.0.1", port: String(port), path, query } as const;
    return { ...place, peer: "backend", use: "proxy", ...destination };
  };

  before(async () => {
    backend = http.createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        received.push({ request, body });
        if (request.url === "/away") response.setHeader("location", "/home?x=1");
        response.setHeader("content-type", "text/plain");
        response.setHeader("connection", "close, X-Hop");
        response.setHeader("x-hop", "1");
        response.statusCode = request.url === "/away" ? 302 : request.url === "/gone" ? 404 : 200;
        response.end(`${request.method} ${request.url}`);
      });
    });
    backend.on("upgrade", (request, socket) => {
      if (request.url?.startsWith("/refused")) {
        socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
        return;
      }
      const head = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: echo"];
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      if (request.url?.startsWith("/last")) {
        // The backend closes while its client still has data to read.
        socket.on("error", () => undefined).end(Buffer.alloc(lastBytes), () => socket.destroy());
        return;
      }
      if (request.url?.startsWith("/flooded")) {
        // The backend responds to the first input, and does not read further input.
        socket.on("error", () => undefined).once("data", () => socket.end(Buffer.alloc(lastBytes)));
        return;
      }
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
    server = createServer({
      catalog: new Catalog(builtinKinds, domainOf()),
      registry: { connect } as Registry,
      authenticator: {
        authenticate: async () => ({ name: "u", uid: "", groups: [], extra: new Map() }),
      },
      authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
      logger: silentLogger,
      dialer: ordinaryDialer,
    });
    await server.listen({ host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await server.close();
    backend.closeAllConnections();
    backend.close();
  });
  beforeEach(() => {
    destination = {};
    calls = [];
    received = [];
  });

  const url = (path: string) => `http://127.0.0.1:${server.address.port}${path}`;
  const send = (path: string, init: RequestInit = {}) =>
    fetch(url(path), { redirect: "manual", ...init });
  const proxy = "/api/v1/namespaces/ns/pods/https:p:8443/proxy";
  const exec = "/api/v1/namespaces/ns/pods/p/exec?command=id&stdout=1";
  /** The connection of an exec request after the upgrade. */
  const upgraded = () =>
    new Promise<Duplex>((resolve, reject) => {
      const headers = { connection: "Upgrade", upgrade: "echo" };
      const request = http.request(url(exec), { method: "POST", headers });
      request.on("error", reject);
      request.on("response", (response) => reject(new Error(`status ${response.statusCode}`)));
      request.on("upgrade", (response, socket, head) => {
        assert.equal(response.headers["upgrade"], "echo");
        socket.unshift(head);
        resolve(socket);
      });
      request.end();
    });

  it("forwards the decoded path, query and body, and no credentials", async () => {
    const response = await send(`${proxy}/a%2Fb/c/?x=1%20&y`, {
      method: "PUT",
      body: "hello",
      headers: { "x-own": "1", authorization: "Bearer secret", "x-remote-user": "x" },
    });
    assert.deepEqual([response.status, await response.text()], [200, "PUT /a/b/c/?x=1%20&y"]);
    const [{ request, body }] = received as [(typeof received)[0]];
    assert.equal(body, "hello");
    assert.equal(request.headers["x-own"], "1");
    assert.equal(request.headers["authorization"], undefined);
    assert.equal(request.headers["x-remote-user"], undefined);
    assert.equal(calls[0]!.target.name, "https:p:8443");
  });

  it("drops headers that a Connection header names", async () => {
    const headers = { connection: "close, X-Own", "x-own": "1", "x-other": "1" };
    const request = http.get(url(`${proxy}/`), { headers });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    assert.equal(response.headers["x-hop"], undefined);
    const [{ request: forwarded }] = received as [(typeof received)[0]];
    assert.deepEqual([forwarded.headers["x-own"], forwarded.headers["x-other"]], [undefined, "1"]);
  });

  it("rewrites redirects to the path of the proxy, and redirects paths without trailing slash", async () => {
    assert.equal((await send(`${proxy}/away`)).headers.get("location"), `${proxy}/home?x=1`);
    const bare = await send(`${proxy}?q=1`);
    assert.deepEqual([bare.status, bare.headers.get("location")], [301, `${proxy}/?q=1`]);
    assert.equal(await (await send(`${proxy}/`)).text(), "GET /");
  });

  it("reports a backend that cannot be reached", async () => {
    destination = { port: "1" };
    const response = await send(`${proxy}/x`);
    const { message } = (await response.json()) as { message: string };
    assert.equal(response.status, 503);
    const refused = "dial tcp 127.0.0.1:1: connect: connection refused";
    assert.equal(message, `error trying to reach service: ${refused}`);
  });

  it("responds with logs as text, kubelet errors as a Status, and 204 without a destination", async () => {
    const log = "/api/v1/namespaces/ns/pods/p/log";
    destination = { use: "log", path: "/containerLogs/ns/p/c", query: "follow=true" };
    const response = await send(`${log}?follow=1`);
    assert.equal(response.headers.get("content-type"), "text/plain");
    assert.equal(await response.text(), "GET /containerLogs/ns/p/c?follow=true");
    destination = { use: "log", path: "/gone", query: "" };
    const gone = await send(log);
    const status = (await gone.json()) as any;
    assert.deepEqual([gone.status, status.details.causes[0].message], [404, "GET /gone"]);
    destination = undefined;
    assert.equal((await send(log)).status, 204);
    assert.equal((await send(log, { method: "POST" })).status, 405);
  });

  it("joins upgraded connections, and rejects exec requests that do not upgrade", async () => {
    destination = { use: "upgrade", path: "/exec/ns/p/c", query: "command=id" };
    const plain = await send(exec, { method: "POST" });
    const { message } = (await plain.json()) as { message: string };
    assert.deepEqual([plain.status, message], [400, "Upgrade request required"]);
    const socket = await upgraded();
    socket.write("ping");
    const [echoed] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    assert.equal(echoed.toString(), "ping");
  });

  it("forwards the response of a backend that rejects an upgrade", async () => {
    destination = { use: "upgrade", path: "/refused" };
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { connection: "Upgrade", upgrade: "websocket" };
      const request = http.request(url(exec), { headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on("error", reject);
      request.on("upgrade", () => reject(new Error("upgraded")));
      request.end();
    });
    assert.equal(status, 403);
  });

  it("delivers all data that a backend sent before it closed", async () => {
    destination = { use: "upgrade", path: "/last" };
    assert.equal(await countSlowly(await upgraded()), lastBytes);
  });

  it("delivers all data of a closed backend to a client that is still sending", async () => {
    destination = { use: "upgrade", path: "/flooded" };
    const socket = await upgraded();
    const flood = () => {
      if (socket.writable && !socket.write(Buffer.alloc(2 ** 16))) socket.once("drain", flood);
      else if (socket.writable) setImmediate(flood);
    };
    flood();
    assert.equal(await countSlowly(socket), lastBytes);
  });

  it("serves requests with an optional upgrade, such as h2c, without upgrading", async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c" };
      const request = http.get(url("/version"), { headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on("error", reject);
    });
    assert.equal(status, 200);
  });
});

/** Number of bytes until the socket ends, read slowly. */
async function countSlowly(socket: Duplex): Promise<number> {
  let bytes = 0;
  for await (const chunk of socket) {
    bytes += (chunk as Buffer).length;
    await setTimeout(1);
  }
  return bytes;
}
