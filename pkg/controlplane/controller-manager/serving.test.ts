import assert from "node:assert/strict";
import { request } from "node:https";
import { cryptoRandom, systemClock } from "#base";
import { http2Transport, HttpClient } from "#client";
import { domainOf } from "#meta";
import { parseKubeconfig } from "#request";
import { type RunningServer, startServer } from "../index.ts";
import { serveHealthAndMetrics } from "./serving.ts";

describe("the HTTPS server of a controller manager", () => {
  let server: RunningServer;
  let port: number;
  let close: () => void;
  const life = new AbortController();
  const token = cryptoRandom.uuid();

  before(async () => {
    const tokens = `${token},alice,1,"devs"\n`;
    server = await startServer({ port: 0, controllers: false, tokens });
    const endpoint = () => parseKubeconfig(server.kubeconfig, () => "");
    const clock = systemClock;
    const { signal } = life;
    const send = http2Transport({ endpoint, clock, signal });
    const client = new HttpClient({ send, domain: domainOf(), clock, userAgent: "t", signal });
    const metrics = () => Promise.resolve("figures 1\n");
    const place = { host: "127.0.0.1", port: 0, clientCa: "" };
    ({ port, close } = await serveHealthAndMetrics({ ...place, client, clock, metrics }));
  });
  after(async () => {
    close?.();
    life.abort();
    await server?.close();
  });

  function get(path: string, bearer?: string): Promise<string> {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path, headers, rejectUnauthorized: false };
      const asking = request(options, (answer) => {
        let text = "";
        answer.on("data", (chunk) => (text += chunk));
        answer.on("end", () => resolve(`${answer.statusCode} ${text.trim()}`));
      });
      asking.on("error", reject);
      asking.end();
    });
  }

  it("serves health to all clients", async () => {
    for (const path of ["/healthz", "/livez", "/readyz?verbose"]) {
      assert.equal(await get(path), "200 ok");
    }
  });

  it("serves metrics to clients that the API server authorizes", async () => {
    assert.equal(await get("/metrics"), "401 Unauthorized");
    assert.equal(await get("/metrics", "wrong"), "401 Unauthorized");
    assert.equal(await get("/metrics", token), "403 Forbidden");
    assert.equal(await get("/metrics", server.token), "200 figures 1");
    assert.equal(await get("/configz", server.token), "404 not found");
  });
});
