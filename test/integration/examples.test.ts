import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { testSummaryController } from "../../examples/server-in-a-test.ts";
import { testDayOfCronJobs } from "../../examples/virtual-time.ts";
import { startServer } from "../../pkg/controlplane/index.ts";
import { root } from "../tidy/source.ts";

describe("examples", () => {
  it("controller.ts keeps its summary, tested by server-in-a-test.ts", testSummaryController);

  it("virtual-time.ts runs a day of CronJobs, at the same times whenever it runs", async () => {
    const [first, second] = [await testDayOfCronJobs(), await testDayOfCronJobs()];
    assert.equal(first.length, 24);
    assert.equal(first[0], "2030-01-01T01:00:00Z 2030-01-01T01:00:02Z");
    assert.equal(first[23], "2030-01-02T00:00:00Z 2030-01-02T00:00:02Z");
    assert.deepEqual(second, first);
  });

  const source = ["--conditions=source", "--import=tsx"];
  const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
  for (const words of [
    ["--test", "examples/testing/node-test.ts"],
    [mocha, "--no-config", "--timeout=60000", "--exit", "examples/testing/mocha.ts"],
  ]) {
    it(`${words.at(-1)} passes`, async () => {
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      await promisify(execFile)(process.execPath, [...source, ...words], { cwd: root, env }).catch(
        ({ stdout, stderr }) => assert.fail(`${stdout}\n${stderr}`),
      );
    });
  }

  it("curl.sh creates, patches, lists, watches and deletes", async function () {
    if (spawnSync("curl", ["--version"]).error) this.skip();
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-example-"));
    const server = await startServer({ port: 0, certificateDirectory: folder });
    try {
      const words = [server.url, server.token, path.join(folder, "ca.crt")];
      const { stdout } = await promisify(execFile)(path.join(root, "examples/curl.sh"), words);
      assert.match(stdout, /"grass": "green"/);
      assert.match(stdout, /"kind": "Table"/);
      assert.match(stdout, /"type":"ADDED"/);
      const gone = await server.fetch("/api/v1/namespaces/default/configmaps/colours");
      assert.equal(gone.status, 404);
    } finally {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
