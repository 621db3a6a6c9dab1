/** Requests and responses of proxies and logs, as kube-apiserver 1.34 forwards them. */
import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from "node:zlib";
import { WebSocket } from "ws";
import { builtinKinds } from "#api";
import { silentLogger } from "#base";
import { Catalog, domainOf } from "#meta";
import type { Destination, Registry } from "#registry";
import { ordinaryDialer } from "../../request/testing.ts";
import { createServer, type KeelsonServer } from "../server.ts";

const prefix = "/api/v1/namespaces/ns/pods/p/proxy";
const page = '<a href="/x">x</a>';
const rewritten = `<a href="${prefix}/x">x</a>`;

interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

describe("proxied requests", () => {
  let backend: http.Server;
  let server: KeelsonServer;
  let use: Destination["use"] = "proxy";
  let seen: http.IncomingMessage[] = [];
  let respond: (response: http.ServerResponse) => void;

  before(async () => {
    backend = http.createServer((request, response) => {
      seen.push(request);
      request.resume();
      respond(response);
    });
    backend.on("upgrade", (request, socket) => {
      seen.push(request);
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
    const connect: Registry["connect"] = async (_target, { path, rawQuery: query }) => {
      const port = String((backend.address() as AddressInfo).port);
      const to = { scheme: "http", host: "127.0.0.1", port, path, query } as const;
      return { ...to, peer: "backend", use };
    };
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
    use = "proxy";
    seen = [];
    respond = (response) => response.end("ok");
  });

  function send(path: string, options: http.RequestOptions = {}): Promise<Answer> {
    const { port } = server.address;
    return new Promise((resolve, reject) => {
      const to = { host: "127.0.0.1", port, path, agent: false };
      const request = http.request({ ...to, ...options }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const { statusCode: status, headers } = response;
          resolve({ status, headers, body: Buffer.concat(chunks) });
        });
      });
      request.on("error", reject);
      request.end();
    });
  }

  const forged = {
    host: "my.host:99",
    authorization: "Bearer secret",
    "x-forwarded-for": "1.2.3.4",
    "x-forwarded-host": "h",
    "x-forwarded-proto": "ftp",
    "x-forwarded-uri": "/u",
    "x-remote-user": "a",
    "x-remote-extra-foo": "a",
    "x-custom": "1",
    te: "trailers",
    connection: "X-Hop",
    "x-hop": "1",
    "proxy-authorization": "a",
    "audit-id": "mine",
  };

  it("carry the headers of the client, its Host included", async () => {
    await send(`${prefix}/a/?b=2&a=1`, { headers: forged });
    const { url, headers } = seen[0]!;
    assert.equal(url, "/a/?b=2&a=1");
    const { connection: _, ...rest } = headers;
    assert.deepEqual(rest, {
      host: "my.host:99",
      "x-forwarded-for": "1.2.3.4, 127.0.0.1",
      "x-forwarded-host": "h",
      "x-forwarded-proto": "ftp",
      "x-forwarded-uri": `${prefix}/a/`,
      "x-custom": "1",
      te: "trailers",
      "audit-id": "mine",
    });
  });

  it("carry a request to upgrade without X-Forwarded-Uri", async () => {
    const upgrade = { ...forged, connection: "Upgrade", upgrade: "echo" };
    const { status, body } = await send(`${prefix}/a`, { headers: upgrade });
    const { headers } = seen[0]!;
    assert.equal(headers.host, "my.host:99");
    assert.equal(headers["x-forwarded-for"], "1.2.3.4, 127.0.0.1");
    assert.equal(headers["x-forwarded-uri"], "/u");
    const { message } = JSON.parse(body.toString());
    assert.deepEqual([status, message], [500, "invalid upgrade response: status code 200"]);
  });

  it("have their response headers passed on, but CORS and hop-by-hop headers", async () => {
    const dropped = {
      "access-control-allow-origin": "*",
      "access-control-allow-credentials": "true",
      "access-control-allow-headers": "x",
      "access-control-allow-methods": "GET",
      "proxy-authenticate": "Basic",
      "keep-alive": "timeout=5",
    };
    const kept = { "access-control-max-age": "5", "set-cookie": ["a=1", "b=2"], etag: "e" };
    respond = (response) => {
      response.writeHead(200, { ...dropped, ...kept, "cache-control": "max-age=5" });
      response.end("ok");
    };
    const { headers } = await send(`${prefix}/`);
    for (const name of Object.keys(dropped)) {
      if (name !== "keep-alive") assert.equal(headers[name], undefined, name);
    }
    for (const [name, value] of Object.entries(kept)) assert.deepEqual(headers[name], value, name);
    assert.equal(headers["cache-control"], "no-cache, private, max-age=5");
  });

  it("have redirects rewritten, whatever their status", async () => {
    const { port } = backend.address() as AddressInfo;
    for (const [location, moved] of [
      ["/there?x=1#f", `${prefix}/there?x=1#f`],
      [`http://127.0.0.1:${port}/abs`, `${prefix}/abs`],
      ["http://else/abs", "http://else/abs"],
      ["../up", "../up"],
    ] as const) {
      for (const status of [201, 302, 308]) {
        respond = (response) => response.writeHead(status, { location }).end();
        assert.equal((await send(`${prefix}/`)).headers.location, moved);
      }
    }
    respond = (response) => response.writeHead(302, { location: ":bad" }).end();
    const { status, body } = await send(`${prefix}/`);
    assert.equal(status, 500);
    assert.match(JSON.parse(body.toString()).message, /error trying to parse Location header/);
  });

  const identity = (bytes: Buffer) => bytes;
  const encodings = [
    [undefined, identity, identity],
    ["gzip", gzipSync, gunzipSync],
    ["deflate", deflateRawSync, inflateRawSync],
  ] as const;
  for (const [encoding, encode, decode] of encodings) {
    it(`have links of pages rewritten (Content-Encoding ${encoding ?? "absent"})`, async () => {
      const sent = encode(Buffer.from(page));
      respond = (response) => {
        const type = { "content-type": "text/html; charset=utf-8", "content-length": sent.length };
        response.writeHead(
          200,
          encoding === undefined ? type : { ...type, "content-encoding": encoding },
        );
        response.end(sent);
      };
      const { headers, body } = await send(`${prefix}/`);
      assert.equal(headers["content-encoding"], encoding);
      assert.equal(decode(body).toString(), rewritten);
    });
  }

  it("have other bodies passed on as they are", async () => {
    const large = `${page}${" ".repeat(5 * 2 ** 20)}`;
    for (const [headers, body] of [
      [{ "content-type": "text/plain" }, page],
      [{ "content-type": "TEXT/HTML" }, page],
      [{ "content-type": "text/html", "content-encoding": "br" }, page],
      [{ "content-type": "text/html" }, large],
      [{}, page],
    ] as const) {
      respond = (response) => {
        response.writeHead(200, headers);
        response.end(body);
      };
      assert.equal((await send(`${prefix}/`)).body.toString(), body);
    }
  });

  it("have a clean path, and a trailing slash at their root", async () => {
    const { status, headers } = await send(`${prefix}?q=1`);
    assert.deepEqual([status, headers.location], [301, `${prefix}/?q=1`]);
    assert.equal((await send(prefix, { method: "POST" })).status, 200);
    assert.equal(seen[0]!.url, "/");
    assert.equal(seen[0]!.headers["x-forwarded-uri"], `${prefix}/`);
  });

  describe("for logs", () => {
    const log = "/api/v1/namespaces/ns/pods/p/log";
    beforeEach(() => {
      use = "log";
      respond = (response) => {
        response.write("one\n");
        response.end("two\n");
      };
    });

    /** Subprotocol, and whether messages are text with base64. */
    const protocols: readonly (readonly [name: string, isBase64: boolean])[] = [
      ["", false],
      ["binary.k8s.io", false],
      ["base64.binary.k8s.io", true],
    ];
    for (const [protocol, isBase64] of protocols) {
      it(`answer a WebSocket with the subprotocol ${JSON.stringify(protocol)}`, async () => {
        const { port } = server.address;
        const offered = protocol === "" ? [] : ["other.k8s.io", protocol];
        const socket = new WebSocket(`ws://127.0.0.1:${port}${log}`, offered);
        const messages: { text: string; isBinary: boolean }[] = [];
        socket.on("message", (data: Buffer, isBinary) =>
          messages.push({ text: data.toString(), isBinary }),
        );
        const code = await new Promise((resolve, reject) => {
          socket.once("close", resolve);
          socket.once("error", reject);
        });
        assert.deepEqual([code, socket.protocol], [1000, protocol]);
        assert.equal(messages[0]?.text, "");
        assert.ok(messages.every(({ isBinary }) => isBinary !== isBase64));
        const decode = (text: string) => (isBase64 ? Buffer.from(text, "base64").toString() : text);
        assert.equal(messages.map(({ text }) => decode(text)).join(""), "one\ntwo\n");
        const [{ method, headers }] = seen as [http.IncomingMessage];
        assert.deepEqual([method, headers.upgrade], ["GET", undefined]);
      });
    }

    it("reject other subprotocols of a WebSocket with 403", async () => {
      const { port } = server.address;
      const socket = new WebSocket(`ws://127.0.0.1:${port}${log}`, ["v4.channel.k8s.io"]);
      const error = await new Promise<Error>((resolve) => socket.once("error", resolve));
      assert.match(error.message, /403/);
    });

    it("are sent without the headers of the client", async () => {
      const { headers, body } = await send(log, { headers: forged });
      assert.deepEqual([headers["content-type"], body.toString()], ["text/plain", "one\ntwo\n"]);
      const [{ headers: sent }] = seen as [http.IncomingMessage];
      assert.deepEqual(Object.keys(sent).toSorted(), ["connection", "host"]);
      assert.match(sent.host ?? "", /^127\.0\.0\.1:/);
    });

    it("are not acceptable as other media types", async () => {
      const { status, body } = await send(log, { headers: { accept: "image/png" } });
      assert.equal(status, 406);
      assert.match(JSON.parse(body.toString()).message, /Available representations: text\/plain/);
    });
  });
});
