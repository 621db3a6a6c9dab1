import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "#base";
import { type WebhookClient, webhookClient, WebhookFault } from "./client.ts";
import { KubeconfigFault, parseKubeconfig } from "./kubeconfig.ts";

const noFiles = (path: string): string => assert.fail(`${path} was read`);

function config(server: string, user: object = {}, cluster: object = {}): string {
  return JSON.stringify({
    "current-context": "main",
    contexts: [{ name: "main", context: { cluster: "there", user: "me" } }],
    clusters: [{ name: "there", cluster: { server, ...cluster } }],
    users: [{ name: "me", user }],
  });
}

describe("webhookClient", () => {
  type Answer = readonly [code: number, body: string, headers?: Record<string, string>];
  let server: Server;
  let answers: Answer[];
  let heard: { url: string; authorization: string | undefined; body: string }[];
  let waits: number[];
  let client: WebhookClient;

  beforeEach(async () => {
    answers = [];
    heard = [];
    waits = [];
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        heard.push({ url: request.url!, authorization: request.headers.authorization, body });
        const answer = answers.shift();
        if (answer === undefined) return;
        response.writeHead(answer[0], answer[2]).end(answer[1]);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const endpoint = parseKubeconfig(
      config(`http://127.0.0.1:${port}/review?x=1`, { token: "secret" }),
      noFiles,
    );
    const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
    client = webhookClient({ endpoint, timeoutMs: 60_000, clock, random: () => 0 });
  });

  afterEach(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });

  const fails = (message: RegExp, code?: number) =>
    assert.rejects(client.post({}), (error: unknown) => {
      assert.ok(error instanceof WebhookFault);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret|x=1/);
      assert.equal(error.code, code);
      return true;
    });

  it("posts the body with the credentials of the kubeconfig", async () => {
    answers = [[201, '{"ok":true}']];
    assert.deepEqual(await client.post({ a: 1 }), { ok: true });
    const request = { url: "/review?x=1&timeout=60s", authorization: "Bearer secret" };
    assert.deepEqual(heard, [{ ...request, body: '{"a":1}' }]);
  });

  it("makes up to five attempts on retriable failures", async () => {
    answers = [
      [500, ""],
      [429, ""],
      [503, "", { "retry-after": "1" }],
      [200, "{}"],
    ];
    assert.deepEqual(await client.post({}), {});
    assert.deepEqual(waits, [500, 750, 1125]);
    answers = Array.from({ length: 9 }, (): Answer => [500, ""]);
    await fails(/status 500$/, 500);
    assert.equal(answers.length, 4);
  });

  it("does not retry other failures", async () => {
    for (const code of [302, 400, 403, 404, 503]) {
      answers = [[code, "{}"]];
      await fails(new RegExp(`status ${code}$`), code);
    }
    assert.deepEqual(waits, []);
  });

  it("rejects malformed and endless responses", async () => {
    answers = [[200, "<html>"]];
    await fails(/not JSON$/);
    answers = [[200, `"${"x".repeat(4 * 1024 * 1024)}"`]];
    await fails(/larger than 3145728 bytes$/);
  });

  it("aborts at the timeout and when the caller's signal aborts", async () => {
    const { port } = server.address() as AddressInfo;
    const endpoint = parseKubeconfig(config(`http://127.0.0.1:${port}`), noFiles);
    const hasty = webhookClient({ endpoint, timeoutMs: 20, clock: systemClock });
    await assert.rejects(hasty.post({}), /context deadline exceeded$/);
    hasty.close();
    const left = new AbortController();
    const asked = client.post({}, left.signal);
    left.abort(new Error("gone"));
    await assert.rejects(asked, /^Error: gone$/);
  });
});

describe("kubeconfigs of webhooks", () => {
  const server = "https://hook.example.org/x";
  const read = (text: string, files: Readonly<Record<string, string>> = {}) =>
    parseKubeconfig(text, (path) => files[path] ?? assert.fail(path));

  it("contain certificates or name their files", () => {
    const data = Buffer.from("KEY").toString("base64");
    const user = { "client-certificate": "c.pem", "client-key-data": data };
    const cluster = { "certificate-authority": "ca.pem", "tls-server-name": "hook" };
    const files = { "c.pem": "CERT", "ca.pem": "CA" };
    const { url, tls } = read(config(server, user, cluster), files);
    assert.equal(url.href, server);
    assert.deepEqual(tls, {
      ca: "CA",
      allowPartialTrustChain: true,
      cert: "CERT",
      key: "KEY",
      servername: "hook",
      rejectUnauthorized: true,
    });
  });

  it("need no context if there is only one cluster", () => {
    const text = `clusters:\n- name: a\n  cluster: {server: "${server}"}\n`;
    assert.equal(read(text).authorization(), undefined);
  });

  it("may lack a user", () => {
    const cluster = `clusters:\n- name: a\n  cluster: {server: "${server}"}\n`;
    assert.equal(read(`${cluster}contexts:\nusers:\n- name: b\n  user:\n`).tls.cert, undefined);
  });

  it("have their token files reread", () => {
    const files = { t: "one\n" };
    const { authorization } = read(config(server, { tokenFile: "t", token: "old" }), files);
    assert.equal(authorization(), "Bearer one");
    files.t = "two\n";
    assert.equal(authorization(), "Bearer two");
  });

  for (const [what, text, message] of [
    ["no YAML", "a: [", /^yaml: /],
    ["no map", "[]", /must be a map/],
    ["nothing", "", /must be a map/],
    ["no cluster", "{}", /names no cluster/],
    ["an unknown context", '{"current-context": "x"}', /"x" is not in contexts/],
    ["no server", config(""), /server "" is no http or https URL/],
    ["another protocol", config("ftp://x"), /server "ftp:\/\/x" is no http or https URL/],
    ["a certificate alone", config(server, { "client-certificate-data": "YQ==" }), /together/],
    ["a program", config(server, { exec: { command: "rm" } }), /^exec is not supported/],
    ["a proxy", config(server, {}, { "proxy-url": "http://p" }), /^proxy-url is not supported/],
  ] as const) {
    it(`with ${what} are rejected`, () => {
      assert.throws(
        () => read(text),
        (error: unknown) => error instanceof KubeconfigFault && message.test(error.message),
      );
    });
  }
});
