/** The package as its users get it: packed, installed into an empty folder, imported and run. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = new URL("../..", import.meta.url).pathname;
const megabyte = 2 ** 20;

const program = `
  const server = await startServer();
  const answer = await server.fetch("/api/v1/namespaces/default");
  console.log((await answer.json()).metadata.name);
  await server.close();`;

describe("the npm package", function () {
  this.timeout(180_000);
  let folder: string;
  let tarball: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "keelson-package-"));
    await run("npm", ["pack", "--pack-destination", folder], { cwd: root });
    [tarball = ""] = (await readdir(folder)).map((name) => path.join(folder, name));
    await writeFile(path.join(folder, "package.json"), '{"private":true}');
    const words = ["install", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund", tarball];
    await run("npm", words, { cwd: folder });
  });

  after(() => rm(folder, { recursive: true, force: true }));

  it("is small and holds no sources, maps or tests", async () => {
    assert.ok((await stat(tarball)).size < 6 * megabyte);
    const files = await readdir(path.join(folder, "node_modules", "keelson"), { recursive: true });
    const foreign = /\.map$|\.test\.|[/\\]testing\.|(?<!\.d)\.ts$/;
    assert.deepEqual(
      files.filter((file) => foreign.test(file)),
      [],
    );
  });

  it("runs as a program", async () => {
    const keelson = path.join(folder, "node_modules", ".bin", "keelson");
    const { stdout } = await run(keelson, ["--version"]);
    assert.match(stdout, /^keelson v1\.34\./);
  });

  for (const [name, text] of [
    ["esm.mjs", `import { startServer } from "keelson";${program}`],
    ["required.cjs", `const { startServer } = require("keelson");(async () => {${program}})();`],
    ["kit.mjs", `import { testServer as startServer } from "keelson/testing";${program}`],
    [
      "kit.cjs",
      `const { testServer: startServer } = require("keelson/testing");(async () => {${program}})();`,
    ],
  ] as const) {
    it(`serves from ${name}`, async () => {
      await writeFile(path.join(folder, name), text);
      const { stdout } = await run(process.execPath, [name], { cwd: folder });
      assert.equal(stdout, "default\n");
    });
  }

  const source = `import { type RunningServer, startServer, VirtualClock } from "keelson";
    const clock = new VirtualClock();
    const server: RunningServer = await startServer({ storage: { kind: "memory" }, clock });
    const text: string = await (await server.fetch("/version")).text();
    // @ts-expect-error: no such storage
    await startServer({ storage: "paper" });
    export { text };`;
  const testing = `import { type TestServer, testServer } from "keelson/testing";
    const server: TestServer = await testServer({ virtualTime: true });
    server.faults.next({ verb: "update", resource: "pods", fail: 409 });
    // @ts-expect-error: no such verb
    server.requests.expectAtMost(3, { verb: "read" });
    await server.clock.advance(1);
    export { server };`;
  const required = `import keelson = require("keelson");
    import kit = require("keelson/testing");
    const server: Promise<keelson.RunningServer> = keelson.startServer();
    const test: Promise<kit.TestServer> = kit.testServer();
    export { server, test };`;
  for (const [module, moduleResolution, file, text] of [
    ["node16", "node16", "program.mts", source],
    ["esnext", "bundler", "program.ts", source],
    ["node16", "node16", "testing.mts", testing],
    ["esnext", "bundler", "testing.ts", testing],
    ["node16", "node16", "required.cts", required],
  ] as const) {
    it(`type-checks ${file} with moduleResolution ${moduleResolution}`, async () => {
      await writeFile(path.join(folder, file), text);
      const types = path.join(folder, "node_modules", "@types");
      await symlink(path.join(root, "node_modules", "@types"), types).catch(ignoreExisting);
      const tsc = path.join(root, "node_modules", ".bin", "tsc");
      const flags = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2023"];
      const resolution = ["--module", module, "--moduleResolution", moduleResolution];
      const words = [...flags, ...resolution, "--types", "node", file];
      await run(tsc, words, { cwd: folder }).catch(({ stdout }) => assert.fail(stdout as string));
    });
  }
});

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
