/** Requests that wait for a token or authorization webhook that does not respond. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseKubeconfig } from "#request";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

/** More than a client of webhooks has connections, so that some of them wait for a connection. */
const flood = 120;

describe("a webhook that does not respond", () => {
  let folder: string;
  let hook: Server;
  let open: Set<ServerResponse>;
  let server: RunningServer;
  let reported: string[];
  let agents: Agent[];

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-hanging-webhooks-"));
    open = new Set();
    agents = [];
    reported = [];
    hook = createServer((_, response) => {
      open.add(response);
      response.once("close", () => open.delete(response));
    });
    hook.listen(0, "127.0.0.1");
    await once(hook, "listening");
    const { port } = hook.address() as AddressInfo;
    const cluster = { server: `http://127.0.0.1:${port}/` };
    const kubeconfig = JSON.stringify({ clusters: [{ name: "hook", cluster }] });
    const kubeconfigFile = path.join(folder, "kubeconfig");
    writeFileSync(kubeconfigFile, kubeconfig);
    server = await startServer({
      port: 0,
      controllers: false,
      tokens: "known-token,known,known",
      authorization: ["Webhook"],
      authorizationWebhook: { kubeconfigFile },
      tokenWebhook: { endpoint: parseKubeconfig(kubeconfig, (name) => assert.fail(name)) },
      report: (what, error) => void reported.push(`${what}: ${String(error)}`),
    });
  });

  afterEach(() => {
    for (const agent of agents) agent.destroy();
    agents = [];
  });

  after(async () => {
    await server?.close();
    hook?.closeAllConnections();
    hook?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Sends a GET that is left unanswered or responds with the status code. */
  function get(token: string, target: string, agent: Agent): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const outgoing = request(`${server.url}${target}`, {
        agent,
        headers,
        rejectUnauthorized: false,
      });
      outgoing.once("response", (response) => resolve(response.resume().statusCode!));
      outgoing.once("error", reject);
      outgoing.end();
    });
  }

  function agent(): Agent {
    const made = new Agent({ keepAlive: true });
    agents.push(made);
    return made;
  }

  async function until(isTrue: () => boolean, what: () => string): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (!isTrue()) {
      assert.ok(performance.now() < deadline, what());
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  for (const [webhook, credential, expected] of [
    ["token", (index: number) => [`unknown-${index}`, "/api/v1/namespaces/default"], 100],
    ["authorization", (index: number) => ["known-token", `/api/v1/namespaces/n${index}`], 20],
  ] as const) {
    it(`delays no other client, and is left with its clients (${webhook} webhook)`, async () => {
      const crowd = agent();
      const count = webhook === "token" ? flood : expected;
      const failures: unknown[] = [];
      for (let index = 0; index < count; index++) {
        const [token, target] = credential(index) as [string, string];
        get(token, target, crowd).catch((error: unknown) => failures.push(error));
      }
      await until(
        () => open.size >= expected,
        () => `${open.size} calls are pending`,
      );
      assert.equal(await get(server.token, "/api/v1/namespaces/default", agent()), 200);
      crowd.destroy();
      await until(
        () => open.size === 0,
        () => `${open.size} calls still wait for clients that have left`,
      );
      await until(
        () => failures.length === count,
        () => `${failures.length} requests have ended`,
      );
      // Aborted calls are no failures of the webhook.
      assert.deepEqual(reported, []);
    });
  }
});
