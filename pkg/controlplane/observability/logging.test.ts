import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { createLogger, type LogFormat } from "#base";
import { type RunningServer, startServer } from "../index.ts";

/** Values that must never appear in a log. */
const secrets = {
  token: "t0ken-of-eve",
  wrong: "t0ken-of-nobody",
  inUrl: "t0ken-in-a-query",
  data: "d4ta-of-a-secret",
};

describe("the log", () => {
  let server: RunningServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  /** Sends requests that fail in many ways, and returns all log lines. */
  const tell = async (format: LogFormat): Promise<readonly string[]> => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const logger = createLogger({ format, level: 10, write });
    const tokens = `${secrets.token},eve,1,"system:masters"`;
    server = await startServer({ tokens, logger, controllers: false });
    const send = async (method: string, path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${secrets.token}`, ...init.headers };
      const answer = await server!.fetch(path, { ...init, method, headers });
      await answer.text();
      return answer;
    };
    const path = "/api/v1/namespaces/default/secrets";
    const encoded = Buffer.from(secrets.data).toString("base64");
    const secret = { metadata: { name: "a" }, stringData: { a: secrets.data } };
    const json = { "content-type": "application/json" };
    const posted = { headers: json, body: JSON.stringify(secret) };
    assert.equal((await send("POST", path, posted)).status, 201);
    assert.equal((await send("POST", path, posted)).status, 409);
    assert.equal((await send("GET", `${path}/a`)).status, 200);
    assert.equal((await send("GET", `${path}?watch=1&timeoutSeconds=1`)).status, 200);
    const broken = { headers: json, body: `{"data": {"a": "${encoded}", "b": 7}}` };
    assert.equal((await send("PUT", `${path}/a`, broken)).status, 400);
    const patch = { headers: { "content-type": "application/merge-patch+json" } };
    const patched = { ...patch, body: JSON.stringify({ stringData: { b: secrets.data } }) };
    assert.equal((await send("PATCH", `${path}/a`, patched)).status, 200);
    const stranger = { headers: { authorization: `Bearer ${secrets.wrong}` } };
    assert.equal((await send("GET", path, stranger)).status, 401);
    const inUrl = `/api/v1/namespaces/default/pods/p/proxy?a=1&access_token=${secrets.inUrl}&b=2`;
    assert.equal((await send("GET", inUrl)).status, 404);
    // A request is logged after its response.
    await setImmediate();
    return lines;
  };

  for (const format of ["text", "json"] as const) {
    it(`contains no secrets (${format})`, async () => {
      const text = (await tell(format)).join("\n");
      for (const secret of Object.values(secrets)) {
        assert.doesNotMatch(text, new RegExp(secret));
        assert.ok(!text.includes(Buffer.from(secret).toString("base64")), secret);
      }
    });
  }

  it("has a line for each request", async () => {
    const lines = (await tell("json")).map((line) => JSON.parse(line) as Record<string, unknown>);
    const requests = lines.filter(({ msg }) => msg === "HTTP");
    const shown = requests.map(({ verb, URI, resp }) => [verb, URI, resp]);
    const path = "/api/v1/namespaces/default/secrets";
    const proxied = "/api/v1/namespaces/default/pods/p/proxy?a=1&access_token=CLASSIFIED&b=2";
    assert.deepEqual(shown, [
      ["POST", path, 201],
      ["POST", path, 409],
      ["GET", `${path}/a`, 200],
      ["WATCH", `${path}?watch=1&timeoutSeconds=1`, 200],
      ["PUT", `${path}/a`, 400],
      ["PATCH", `${path}/a`, 200],
      ["LIST", path, 401],
      ["CONNECT", proxied, 404],
    ]);
    assert.ok(requests.every((request) => /^[\d.]+ms$/.test(String(request["latency"]))));
    assert.ok(requests.every((request) => /^[\w-]{36}$/.test(String(request["audit-ID"]))));
  });
});
