import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { testSummaryController } from "../../examples/server-in-a-test.ts";
import { testDayOfCronJobs } from "../../examples/virtual-time.ts";
import { startServer } from "../../pkg/controlplane/index.ts";
import { root } from "../tidy/source.ts";

describe("examples", () => {
  it("controller.ts maintains its summary, tested by server-in-a-test.ts", testSummaryController);

  it("virtual-time.ts runs a day of CronJobs deterministically", async () => {
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

  it("go/ passes on envtest and on keelson testserver", async function () {
    this.timeout(300_000);
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-example-"));
    try {
      const cwd = path.join(folder, "go");
      cpSync(path.join(root, "examples/go"), cwd, { recursive: true });
      const modules = offlineModules(cwd);
      if (modules === undefined) {
        console.error(
          "      skipped, as go, or the modules of examples/go on this machine, are not there:",
        );
        return this.skip();
      }
      const keelson = [process.execPath, path.join(root, "dist/keelson.js")];
      const assets = path.join(folder, "assets");
      await promisify(execFile)(keelson[0]!, [keelson[1]!, "envtest", `--dir=${assets}`]);
      const env = {
        ...process.env,
        ...modules,
        KEELSON: keelson.join(" "),
        KUBEBUILDER_ASSETS: assets,
        TEST_ASSET_KUBE_APISERVER: path.join(assets, "kube-apiserver"),
        TEST_ASSET_ETCD: path.join(assets, "etcd"),
        TEST_ASSET_KUBECTL: path.join(assets, "kubectl"),
      };
      const words = ["test", "-trimpath", "-count=1", "-v", "./..."];
      const { stdout } = await promisify(execFile)("go", words, {
        cwd,
        env,
        timeout: 240_000,
      }).catch(({ stdout, stderr }) => assert.fail(`${stdout}\n${stderr}`));
      assert.match(stdout, /^ok /m);
      assert.doesNotMatch(stdout, /^--- SKIP/m);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

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

/**
 * Environment in which Go builds the tests of a folder without a download: from its module cache, or from
 * the sources in GOPATH. Undefined if neither has all imports, or Go is not installed.
 */
function offlineModules(cwd: string): Readonly<Record<string, string>> | undefined {
  const modules = { GOPROXY: "off", GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local" };
  const sources = { GO111MODULE: "off", GOFLAGS: "" };
  return [modules, sources].find((found) => {
    const env = { ...process.env, ...found };
    return spawnSync("go", ["list", "-deps", "-test", "./..."], { cwd, env }).status === 0;
  });
}
