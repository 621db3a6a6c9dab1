/**
 * `keelson envtest`, used as envtest does: both programs with its flags, health, requests, SIGTERM.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { root } from "../../test/tidy/source.ts";
import { Environment, freePorts, isHealthy, spawnProgram, untilHealthy } from "./testing.ts";

const program = path.join(root, "dist", "keelson.js");
const configMaps = "/api/v1/namespaces/default/configmaps";
const hasEtcd = spawnSync("etcd", ["--version"]).status === 0;

function keelson(...words: readonly string[]): string {
  return execFileSync(process.execPath, [program, ...words], { encoding: "utf8" });
}

describe("keelson envtest", () => {
  let folder: string;
  let assets: string;
  const environments: Environment[] = [];

  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson envtest's "));
    assets = path.join(folder, "assets");
    keelson("envtest", `--dir=${assets}`);
  });
  afterEach(() => {
    for (const environment of environments.splice(0)) environment.kill();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function started(variables: Readonly<Record<string, string>> = {}): Promise<Environment> {
    const environment = new Environment(assets, folder, variables);
    environments.push(environment);
    await environment.start();
    return environment;
  }

  async function create(environment: Environment, url: string, body: unknown): Promise<void> {
    const answer = await environment.request("POST", url, { body });
    assert.equal(answer.code, 201, answer.body);
  }

  it("serves concurrent environments, and exits on SIGTERM with open watches", async () => {
    const [first, second] = await Promise.all([started(), started()]);
    const certificate = path.join(first.certificates, "apiserver.crt");
    const served = readFileSync(certificate, "utf8");
    const event = first.watch(`${configMaps}?watch=true`, /"name":"colours"/);
    await create(first, configMaps, { metadata: { name: "colours" } });
    assert.match(await event, /"ADDED"/);
    assert.equal((await first.request("GET", `${configMaps}/colours`)).code, 200);
    assert.equal((await second.request("GET", `${configMaps}/colours`)).code, 404);
    assert.equal((await second.request("GET", "/readyz", { anonymous: true })).body, "ok");
    assert.equal((await second.request("GET", configMaps, { anonymous: true })).code, 403);
    assert.equal(readFileSync(certificate, "utf8"), served);
    assert.deepEqual(await first.stop(), [0, 0]);
    assert.deepEqual(await second.stop(), [0, 0]);
  });

  it("runs no controllers unless KEELSON_ENVTEST_CONTROLLERS is set", async () => {
    const [without, having] = await Promise.all([
      started(),
      started({ KEELSON_ENVTEST_CONTROLLERS: "true" }),
    ]);
    for (const each of [without, having]) {
      await create(each, "/api/v1/namespaces", { metadata: { name: "shop" } });
    }
    const gone = having.watch("/api/v1/namespaces?watch=true", /"DELETED".*"name":"shop"/);
    await having.request("DELETE", "/api/v1/namespaces/shop");
    await gone;
    await without.request("DELETE", "/api/v1/namespaces/shop");
    assert.match((await without.request("GET", "/api/v1/namespaces/shop")).body, /Terminating/);
    const pods = having.watch("/api/v1/namespaces/default/pods?watch=true", /"name":"web-/);
    const labels = { app: "web" };
    const spec = { containers: [{ name: "web", image: "nginx" }] };
    await create(having, "/apis/apps/v1/namespaces/default/deployments", {
      metadata: { name: "web" },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    assert.match(await pods, /"Pending"/);
    assert.deepEqual(await having.stop(), [0, 0]);
  });

  for (const store of ["embedded", "etcd"] as const) {
    it(`keeps objects while the API server restarts, with ${store}`, async function () {
      if (store === "etcd" && !hasEtcd) this.skip();
      const environment = new Environment(assets, folder, { KEELSON_ENVTEST_STORE: store });
      environments.push(environment);
      await environment.start();
      await create(environment, configMaps, { metadata: { name: "kept" } });
      await environment.stopApiserver();
      await environment.startApiserver();
      assert.equal((await environment.request("GET", `${configMaps}/kept`)).code, 200);
    });
  }

  it("rejects unknown flags with a message on stderr", async () => {
    const apiserver = spawnProgram(path.join(assets, "kube-apiserver"), ["--insecure-port=0"]);
    assert.equal(await apiserver.ended, 1);
    assert.match(apiserver.stderr(), /unknown flag: --insecure-port/);
    const etcd = spawnProgram(path.join(assets, "etcd"), ["--listen-client-uls=http://[::1]:1"]);
    assert.equal(await etcd.ended, 2);
    assert.match(etcd.stderr(), /unknown flag: --listen-client-uls/);
  });

  it("stops the programs when their test suite exits", async () => {
    const [port] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const suite = spawnProgram("/bin/sh", [
      "-c",
      `"$0" --listen-client-urls="$1" & while [ ! -e "$2" ]; do sleep 0.05; done`,
      path.join(assets, "etcd"),
      url,
      path.join(folder, "never"),
    ]);
    await untilHealthy(suite, () => isHealthy(`${url}/health`));
    suite.child.kill("SIGKILL");
    while (await isHealthy(`${url}/health`)) await new Promise((go) => setTimeout(go, 50));
    assert.equal(await suite.ended, null);
  });

  it("prints what setup-envtest prints", () => {
    assert.equal(keelson("envtest", "use", "1.34.x", "-p", "path", `--dir=${assets}`), assets);
    const quoted = assets.replaceAll("'", `'"'"'`);
    const exported = `export KUBEBUILDER_ASSETS='${quoted}'\n`;
    assert.equal(keelson("envtest", "use", "--print=env", `--dir=${assets}`), exported);
    const overview = keelson("envtest", "use", "-i", `--bin-dir=${path.join(folder, "bin")}`);
    const form = /^Version: (1\.34\.\d+)\nOS\/Arch: (\w+)\/(\w+)\nPath: .*\/bin\/k8s\/\1-\2-\3\n$/;
    assert.match(overview, form);
    const old = spawnSync(process.execPath, [program, "envtest", "use", "1.20"]);
    assert.equal(old.status, 1);
    assert.match(String(old.stderr), /this build serves Kubernetes 1\.34, not 1\.20/);
    const shown = execFileSync("/bin/sh", [
      "-c",
      `eval "$1"; printf '%s|' "$TEST_ASSET_KUBE_APISERVER" "$TEST_ASSET_ETCD" "$TEST_ASSET_KUBECTL"`,
      "sh",
      keelson("envtest", `--dir=${assets}`),
    ]);
    const names = ["kube-apiserver", "etcd", "kubectl"];
    assert.equal(String(shown), names.map((name) => `${path.join(assets, name)}|`).join(""));
  });

  it("reports a missing kubectl", async () => {
    const kubectl = spawnProgram(path.join(assets, "kubectl"), ["version"], { PATH: assets });
    assert.equal(await kubectl.ended, 127);
    assert.match(kubectl.stderr(), /there is no kubectl on PATH/);
  });
});
