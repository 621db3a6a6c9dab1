/** Several processes behind one port, as a client sees them. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { root } from "../../test/tidy/source.ts";

const program = path.join(root, "dist", "keelson.js");
const collection = "/api/v1/namespaces/default/configmaps";

describe("workers", () => {
  let etcd: EtcdCluster;
  let folder: string;
  let primary: ChildProcess;
  let [url, token, text] = ["", "", ""];

  before(async function () {
    if (spawnSync("etcd", ["--version"]).error) this.skip();
    folder = mkdtempSync(path.join(tmpdir(), "keelson-workers-"));
    etcd = await startEtcd();
    const flags = ["--workers=2", "--secure-port=0", "--bind-address=127.0.0.1"];
    const words = [program, "apiserver", ...flags, `--etcd-servers=${etcd.endpoints[0]}`];
    primary = spawn(process.execPath, words, { cwd: folder });
    primary.stdout?.on("data", (chunk) => (text += chunk));
    primary.stderr?.on("data", (chunk) => (text += chunk));
    url = await seen(/ready on (https:\S+)/);
    token = readFileSync(path.join(folder, ".keelson", "pki", "admin.token"), "utf8").trim();
  });

  after(async () => {
    if (primary?.exitCode === null) primary.kill("SIGKILL");
    await etcd?.[Symbol.asyncDispose]();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  async function seen(pattern: RegExp): Promise<string> {
    for (let tries = 0; tries < 3600; tries++) {
      const match = pattern.exec(text);
      if (match) return match[1] ?? match[0];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return assert.fail(`never saw ${pattern}: ${text}`);
  }

  /** Repeats a call that may fail. */
  async function until(attempt: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      if (primary.exitCode !== null) break;
      if (await attempt().catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail(`exit code ${primary.exitCode}: ${text}`);
  }

  it("behave as one server: the next connection reads what one worker has written", async () => {
    for (let index = 0; index < 20; index++) {
      const body = JSON.stringify({ metadata: { name: `a-${index}` } });
      assert.equal((await call("POST", collection, body)).status, 201);
      const { status, text: shown } = await call("GET", `${collection}?limit=1000`);
      assert.equal(status, 200);
      assert.match(shown, new RegExp(`"name":"a-${index}"`));
    }
  });

  it("serve the metrics of all workers from any worker", async () => {
    const created = /^apiserver_request_total\{verb="POST".*resource="configmaps".* 20$/m;
    for (let asked = 0; asked < 4; asked++) {
      // A request is counted after its response.
      let { text: metrics } = await call("GET", "/metrics");
      for (let tries = 0; !created.test(metrics) && tries < 500; tries++) {
        ({ text: metrics } = await call("GET", "/metrics"));
      }
      assert.match(metrics, created);
      assert.match(metrics, /^kubernetes_build_info\{.*\} 1$/m);
      assert.match(metrics, /^apiserver_storage_objects\{resource="configmaps"\} 2\d$/m);
      const { text: slis } = await call("GET", "/metrics/slis");
      assert.match(slis, /^# TYPE kubernetes_healthcheck gauge$/m);
    }
  });

  it("are replaced when they exit, also all at once", async () => {
    await seen(/keelson: workers \d+, \d+/);
    const [, ...victims] = /keelson: workers (\d+), (\d+)/.exec(text)!.map(Number);
    for (const victim of victims) process.kill(victim, "SIGKILL");
    for (const victim of victims) {
      await seen(new RegExp(`worker ${victim} exited; starting another one`));
    }
    // Until a new worker listens, the primary process keeps connections waiting.
    for (let index = 0; index < 10; index++) {
      await until(async () => (await call("GET", "/readyz")).status === 200);
    }
    assert.equal(primary.exitCode, null);
  });

  it("exit with the primary process", async () => {
    const [, ...workers] = /keelson: workers (\d+), (\d+)/.exec(text)!.map(Number);
    const ended = new Promise((resolve) => primary.once("close", resolve));
    primary.kill("SIGTERM");
    assert.equal(await ended, 0);
    for (const pid of workers) assert.throws(() => process.kill(pid, 0), /ESRCH/);
  });

  /** Sends a request over a new connection. */
  function call(method: string, where: string, body?: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const agent = new Agent({ rejectUnauthorized: false, keepAlive: false });
    return new Promise((resolve, reject) => {
      const sent = request(`${url}${where}`, { method, headers, agent }, (answer) => {
        let received = "";
        answer.on("data", (chunk) => (received += chunk));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: received }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
});

interface Answer {
  readonly status: number;
  readonly text: string;
}
