/** Requests to another API server, over real connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { connect, constants, type OutgoingHttpHeaders } from "node:http2";
import { connect as tlsConnect } from "node:tls";
import type { KeyPair } from "#pki";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import {
  AggregatedBackend,
  cut,
  getWhenAvailable,
  register,
  seenBy,
  send,
  sendJson,
  testAuthority,
  untilReason,
} from "./aggregated-backend.ts";

const tokens = 'usertoken,vera,uid-1,"devs,ops"\n';
const hosts = ["far.default.svc"];

/** Groups of the servers with and without HTTP/2. */
const groups = ["two.example.com", "one.example.com"] as const;

describe("requests to aggregated servers", () => {
  let server: RunningServer;
  let authority: KeyPair;
  const backends = new Map<string, AggregatedBackend>();
  const open: { readonly close: () => void }[] = [];

  before(async () => {
    server = await startServer({ port: 0, controllers: false, tokens });
    authority = await testAuthority();
    for (const group of groups) {
      const http2 = group === groups[0];
      const backend = await AggregatedBackend.start({ authority, hosts, http2 });
      backend.handlers.set("seen", async (...exchange) =>
        sendJson(exchange, await seenBy(exchange)),
      );
      backends.set(group, backend);
      await register(server, { group, port: backend.port, authority: authority.certificate });
    }
    await Promise.all(groups.map((group) => untilReason(server, group, "Passed")));
  });
  afterEach(() => open.splice(0).forEach((each) => each.close()));
  after(async () => {
    await server.close();
    for (const backend of backends.values()) await backend.stop();
  });

  const at = (group: string, name: string) => `/apis/${group}/v1/namespaces/default/${name}`;

  /** A request of a client over HTTP/2. */
  function ask(path: string, headers: OutgoingHttpHeaders = {}, body?: string) {
    const session = connect(server.url, { rejectUnauthorized: false });
    open.push(session);
    const authorization = `Bearer ${server.token}`;
    const all = { ":path": path, authorization, ...headers };
    const stream = session.request(all, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    return stream;
  }

  async function answerOf(stream: ReturnType<typeof ask>) {
    const [headers] = await once(stream, "response");
    let text = "";
    for await (const chunk of stream) text += String(chunk);
    return { status: headers[":status"], headers, text };
  }

  for (const group of groups) {
    describe(group, () => {
      it("carry the user, but no credential of the client", async () => {
        const forged = { "x-remote-user": "root", "x-remote-extra-scopes": "all", te: "trailers" };
        const stream = ask(`${at(group, "seen")}?b=2&a=%20x`, {
          ...forged,
          authorization: `Bearer ${server.token}`,
          "impersonate-user": "vera",
          "impersonate-group": "a b",
          "impersonate-extra-acme.com%2Fx": "1",
          x_remote_user: "root",
          "x-other": "kept",
        });
        const { status, text } = await answerOf(stream);
        assert.equal(status, 403, "the user may not do this: it is refused before it leaves");
        assert.match(text, /User \\"vera\\" cannot list resource/);
        const own = await answerOf(
          ask(`${at(group, "seen")}?b=2&a=%20x`, { ...forged, "x-other": "kept" }),
        );
        assert.equal(own.status, 200);
        const seen = JSON.parse(own.text);
        assert.equal(seen.url, `${at(group, "seen")}?a=+x&b=2`);
        assert.equal(seen.client, "front-proxy-client");
        assert.equal(seen.version, group === groups[0] ? "2.0" : "1.1");
        const { headers } = seen;
        assert.equal(headers["x-remote-user"], "admin");
        assert.equal(headers["x-remote-group"], "system:masters, system:authenticated");
        assert.equal(headers["x-other"], "kept");
        assert.equal(headers["audit-id"], own.headers["audit-id"]);
        assert.equal(headers["x-forwarded-for"], "127.0.0.1");
        const names = Object.keys(headers).join(" ");
        assert.doesNotMatch(names, /authorization|impersonate|x-remote-extra|x_remote/);
        assert.equal(headers["te"], "trailers");
      });

      it("carry bodies of request and response", async () => {
        const body = "x".repeat(5_000_000);
        const type = { ":method": "POST", "content-type": "text/plain" };
        const { status, text } = await answerOf(ask(at(group, "seen"), type, body));
        assert.equal(status, 200);
        const seen = JSON.parse(text);
        assert.equal(seen.method, "POST");
        assert.equal(seen.body.length, body.length);
      });

      it("stream a watch, and end it when the client disconnects", async () => {
        let hasLeft: () => void;
        const left = new Promise<void>((resolve) => (hasLeft = resolve));
        backends.get(group)!.handlers.set("things", (_request, response) => {
          response.writeHead(200, { "content-type": "application/json" });
          response.write("first\n");
          response.on("close", () => hasLeft());
        });
        const stream = ask(`${at(group, "things")}?watch=true`);
        const [chunk] = await once(stream, "data");
        assert.equal(String(chunk), "first\n");
        stream.close(constants.NGHTTP2_CANCEL);
        await left;
      });

      it("apply backpressure when the client does not read", async () => {
        const flow = { written: 0, isBlocked: false };
        backends.get(group)!.handlers.set("endless", (_request, response) => {
          response.writeHead(200);
          const chunk = Buffer.alloc(64 * 1024);
          const more = () => {
            while (!response.destroyed && response.write(chunk)) flow.written += chunk.length;
            flow.isBlocked = true;
          };
          response.on("drain", more);
          more();
        });
        const stream = ask(at(group, "endless"));
        await once(stream, "response");
        stream.pause();
        // The backend has written nothing since the last check.
        for (let noted = -1; !flow.isBlocked || noted !== flow.written;) {
          noted = flow.written;
          await delay(100);
        }
        assert.ok(flow.written < 32 * 2 ** 20, `${flow.written} bytes were taken`);
        stream.close(constants.NGHTTP2_CANCEL);
      });

      it("abort when the backend aborts", async () => {
        backends.get(group)!.handlers.set("cut", (_request, response) => {
          response.writeHead(200, { "content-type": "text/plain" });
          response.write("half");
          setImmediate(() => cut(response));
        });
        await assert.rejects(answerOf(ask(at(group, "cut"))), /NGHTTP2_INTERNAL_ERROR/);
      });

      it("answer 502 in place of a redirect", async () => {
        backends.get(group)!.handlers.set("moved", (_request, response) => {
          response.writeHead(302, { location: "https://elsewhere.example.com/" });
          response.end();
        });
        const { status, headers, text } = await answerOf(ask(at(group, "moved")));
        assert.equal(status, 502);
        assert.equal(headers["location"], undefined);
        assert.match(text, /^the backend attempted to redirect this request/);
      });

      it("support protocol upgrades", async () => {
        backends.get(group)!.server.on("upgrade", (request, socket) => {
          socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n");
          socket.write(`Upgrade: echo\r\nX-User: ${request.headers["x-remote-user"]}\r\n\r\n`);
          socket.pipe(socket);
        });
        const { hostname: host, port } = new URL(server.url);
        const socket = tlsConnect({ host, port: Number(port), rejectUnauthorized: false });
        open.push({ close: () => socket.destroy() });
        socket.write(
          `GET ${at(group, "session")}?timeout=1s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
            `Upgrade: echo\r\nAuthorization: Bearer ${server.token}\r\n\r\nhello`,
        );
        let text = "";
        for await (const chunk of socket) {
          text += String(chunk);
          if (text.endsWith("hello") && !text.endsWith("hellohello")) {
            // Longer than the time limit of the request.
            await delay(1_200);
            socket.write("hello");
          }
          if (text.endsWith("hellohello")) break;
        }
        assert.match(text, /^HTTP\/1\.1 101 /);
        assert.match(text, /X-User: admin\r\n/);
      });
    });
  }

  it("are rejected without permission, and not sent", async () => {
    const path = at(groups[0], "secrets");
    const { status } = await answerOf(ask(path, { authorization: "Bearer usertoken" }));
    assert.equal(status, 403);
    assert.ok(!backends.get(groups[0])!.paths.includes(path));
  });

  for (const [what, names, trust, message] of [
    [
      "another authority",
      hosts,
      false,
      'x509: certificate signed by unknown authority (possibly because of "x509: ECDSA verification ' +
        'failure" while trying to verify candidate authority certificate "backends")',
    ],
    [
      "another name",
      ["near.default.svc"],
      true,
      "x509: certificate is valid for near.default.svc, not far.default.svc",
    ],
  ] as const) {
    it(`are not sent to a certificate of ${what}`, async () => {
      const group = `${what.replace(/ /g, "-")}.example.com`;
      const issuer = trust ? authority : await testAuthority();
      const backend = await AggregatedBackend.start({
        authority: issuer,
        hosts: names,
        http2: true,
      });
      try {
        await register(server, { group, port: backend.port, authority: authority.certificate });
        await untilReason(server, group, "Passed");
        const answer = await getWhenAvailable(server, at(group, "things"));
        assert.equal(answer.status, 503);
        const text = `error trying to reach service: tls: failed to verify certificate: ${message}\n`;
        assert.equal(answer.text, text);
        assert.ok(!backend.paths.includes(at(group, "things")));
      } finally {
        await backend.stop();
      }
    });
  }

  it("fail in isolation while their server is down, and succeed when it is back", async () => {
    const group = "restarted.example.com";
    const options = { authority, hosts, http2: true };
    const first = await AggregatedBackend.start(options);
    const { port } = first;
    await register(server, { group, port, authority: authority.certificate });
    await untilReason(server, group, "Passed");
    assert.equal((await getWhenAvailable(server, at(group, "things"))).status, 200);
    await first.stop();
    const gone = await send(server, "GET", at(group, "things"));
    assert.equal(gone.status, 503);
    const text = await gone.text();
    assert.match(text, /^error trying to reach service: (?:EOF|.*connect: connection refused)\n$/);
    await send(server, "PATCH", "/api/v1/namespaces/default/services/far", {
      metadata: { annotations: { changed: "yes" } },
    });
    const { status, message } = await untilReason(server, group, "FailedDiscoveryCheck");
    assert.equal(status, "False");
    assert.match(message, /^failing or missing response from https:\/\/localhost:\d+\/apis\//);
    const unavailable = await send(server, "GET", at(group, "things"));
    assert.equal(await unavailable.text(), "service unavailable\n");
    assert.equal((await send(server, "GET", "/readyz")).status, 200);
    assert.equal((await send(server, "GET", "/apis/apps/v1")).status, 200);
    const metrics = await (await send(server, "GET", "/metrics")).text();
    assert.match(metrics, new RegExp(`aggregator_unavailable_apiservice{name="v1.${group}"} 1`));
    const second = await AggregatedBackend.start({ ...options, port });
    try {
      await untilReason(server, group, "Passed");
      assert.equal((await getWhenAvailable(server, at(group, "things"))).status, 200);
    } finally {
      await second.stop();
    }
  });

  it("are trusted by the ConfigMap extension-apiserver-authentication", async () => {
    const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    for (;;) {
      const { data } = (await (await send(server, "GET", path)).json()) as any;
      if (data?.["requestheader-client-ca-file"] === undefined) continue;
      assert.match(data["requestheader-client-ca-file"], /BEGIN CERTIFICATE/);
      assert.equal(data["requestheader-allowed-names"], '["front-proxy-client"]');
      assert.equal(data["requestheader-username-headers"], '["X-Remote-User"]');
      assert.equal(data["requestheader-uid-headers"], '["X-Remote-Uid"]');
      assert.equal(data["requestheader-group-headers"], '["X-Remote-Group"]');
      assert.equal(data["requestheader-extra-headers-prefix"], '["X-Remote-Extra-"]');
      return;
    }
  });
});
