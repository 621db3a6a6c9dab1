/** The package as its users get it: packed, installed and used as docs/testing-with-keelson.md says. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { codeBlocks } from "./document-steps.ts";

const run = promisify(execFile);
const root = new URL("../..", import.meta.url).pathname;
const megabyte = 2 ** 20;
const blocks = codeBlocks(path.join(root, "docs", "testing-with-keelson.md"));

const program = `
  const server = await startServer();
  const answer = await server.fetch("/api/v1/namespaces/default");
  console.log((await answer.json()).metadata.name);
  await server.close();`;

describe("the npm package", function () {
  // It is built, packed and installed.
  this.timeout(600_000);
  let parent: string;
  let folder: string;
  let tarball: string;

  before(async () => {
    parent = await mkdtemp(path.join(tmpdir(), "keelson-package-"));
    folder = path.join(parent, "controller");
    await run("npm", ["pack", "--pack-destination", parent], { cwd: root });
    [tarball = ""] = (await readdir(parent)).map((name) => path.join(parent, name));
    await shell(shellBlock("Testing with Keelson"), parent);
  });

  after(() => rm(parent, { recursive: true, force: true }));

  /** Environment of a user whose Node is the one of this test. */
  function environment(): NodeJS.ProcessEnv {
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const programs = path.join(folder, "node_modules", ".bin");
    const searchPath = [programs, path.dirname(process.execPath), env["PATH"]].join(path.delimiter);
    const npm = { npm_config_audit: "false", npm_config_fund: "false" };
    return { ...env, ...npm, npm_config_prefer_offline: "true", NO_COLOR: "1", PATH: searchPath };
  }

  /** Runs a script of the document. Resolves with all output. @throws AssertionError with the output */
  async function shell(script: string, cwd = folder): Promise<string> {
    const { code, output } = await attempt(script, cwd);
    assert.equal(code, 0, output);
    return output;
  }

  async function attempt(script: string, cwd = folder) {
    const running = run("sh", ["-ec", script], { cwd, env: environment() });
    return running.then(
      ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ code: code as number, output: `${stdout}${stderr}` }),
    );
  }

  it("is small and holds no sources, maps or tests", async () => {
    assert.ok((await stat(tarball)).size < 6 * megabyte);
    const files = await readdir(path.join(folder, "node_modules", "keelson"), { recursive: true });
    const foreign = /\.map$|\.test\.|[/\\]testing\.|(?<!\.d)\.ts$/;
    assert.deepEqual(
      files.filter((file) => foreign.test(file) && !file.startsWith("examples")),
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

  describe("docs/testing-with-keelson.md", function () {
    /** Writes the files below a heading; of each file the version with this index. */
    async function writeFiles(heading: string, version: number): Promise<void> {
      const files = blocks.filter((block) => block.heading === heading && block.file !== "");
      for (const { file } of files) {
        const versions = files.filter((block) => block.file === file);
        const { text } = versions[Math.min(version, versions.length - 1)]!;
        await writeFile(path.join(folder, file), text);
      }
    }

    it("leads to a test in JavaScript that fails, then passes", async () => {
      const heading = "JavaScript and TypeScript: `keelson/testing`";
      await writeFiles(heading, 0);
      const { code, output } = await attempt("node --test");
      assert.equal(code, 1, output);
      assert.match(output, /timed out after 1000 ms waiting for jsonpath=/);
      await writeFiles(heading, 1);
      await shell("node --test");
    });

    it("leads to a test in Python that fails, then passes", async function () {
      if (!has("python3")) return skip(this, "python3");
      await shell(shellBlock("Python"));
      await writeFiles("Python", 0);
      const { code, output } = await attempt("python3 -m unittest");
      assert.equal(code, 1, output);
      assert.match(output, /AssertionError: None != {'seen': 'yes'}/);
      await writeFiles("Python", 1);
      await shell("python3 -m unittest");
    });

    it("runs the tests in Java", async function () {
      if (!has("javac")) return skip(this, "javac");
      assert.match(await shell(shellBlock("Java")), /2 tests passed/);
    });

    it("runs the tests in Rust", async function () {
      if (!has("cargo") || !has("curl")) return skip(this, "cargo or curl");
      assert.match(await shell(shellBlock("Rust")), /2 passed; 0 failed/);
    });

    it("runs the tests in Go", async function () {
      if (!has("go", "version")) return skip(this, "go");
      const script = shellBlock("Go: envtest");
      // Where the modules are not in the cache, a download and a build would take minutes.
      const offline = script.split("\n").slice(0, 2).join("\n");
      const { code } = await attempt(`export GOPROXY=off\n${offline}\nrm -r "$PWD"`);
      if (code !== 0) return skip(this, "the modules of examples/go in Go's cache");
      assert.match(await shell(script), /^ok /m);
    });

    it("runs the tests of Vitest and Jest", async () => {
      const output = await shell(shellBlock("JavaScript and TypeScript: `keelson/testing`"));
      assert.match(output, /Tests {2}2 passed/);
      assert.match(output, /Tests: {7}2 passed/);
    });
  });

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

/** The last shell script below a heading of the document. */
function shellBlock(heading: string): string {
  const found = blocks.findLast((block) => block.heading === heading && block.language === "sh");
  assert.ok(found !== undefined, `there is no shell script below ${heading}`);
  return found.text;
}

function has(program: string, word = "--version"): boolean {
  return spawnSync(program, [word]).status === 0;
}

function skip(context: Mocha.Context, missing: string): void {
  console.error(`      skipped, as ${missing} is not there:`);
  context.skip();
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
