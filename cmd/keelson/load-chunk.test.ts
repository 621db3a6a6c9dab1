import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { root } from "../../test/tidy/source.ts";

describe("the code cache of loadChunk", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-cache-"));
    for (const part of ["keelson.js", "load-chunk.js", "chunks"]) {
      cpSync(path.join(root, "dist", part), path.join(folder, part), { recursive: true });
    }
    writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  });
  after(() => rmSync(folder, { recursive: true }));

  function run(...words: readonly string[]): string {
    return runWith({}, ...words);
  }

  function runWith(env: NodeJS.ProcessEnv, ...words: readonly string[]): string {
    const program = path.join(folder, "keelson.js");
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
    assert.equal(status, 0, stderr);
    return stdout;
  }

  function runVersion(env: NodeJS.ProcessEnv = {}): void {
    assert.match(runWith(env, "version"), /^keelson v/);
  }

  /** Files of compiled chunks by their names. */
  function compiled(): ReadonlyMap<string, Buffer> {
    const cache = path.join(folder, "cache");
    const names = readdirSync(cache, { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => name.endsWith(".code"));
    return new Map(files.map((name) => [name, readFileSync(path.join(cache, name))]));
  }

  it("is empty if NODE_DISABLE_COMPILE_CACHE is set", () => {
    runVersion({ NODE_DISABLE_COMPILE_CACHE: "1" });
    assert.deepEqual(readdirSync(folder).includes("cache"), false);
  });

  it("contains the chunks that a command loaded after the command exits", () => {
    runVersion();
    const names = [...compiled().keys()].map((name) => path.basename(name));
    assert(names.some((name) => name.startsWith("command-line-")));
    assert(names.length < readdirSync(path.join(folder, "chunks")).length / 4);
  });

  it("is read and not changed by later processes", () => {
    const before = compiled();
    runVersion();
    assert.deepEqual(compiled(), before);
  });

  it("is replaced if it is damaged", () => {
    for (const [name, content] of compiled()) {
      for (let at = 100; at < content.length; at += 50) content[at]! ^= 0x55;
      writeFileSync(path.join(folder, "cache", name), content);
    }
    const damaged = compiled();
    runVersion();
    for (const [name, content] of compiled()) assert.notDeepEqual(content, damaged.get(name), name);
    runVersion();
  });

  it("gains the code that later commands compile in shared chunks", () => {
    const sizes = () => new Map([...compiled()].map(([name, { length }]) => [name, length]));
    const before = sizes();
    run("apiserver", "--help");
    const after = sizes();
    const grown = [...before].filter(([name, size]) => after.get(name)! > size);
    assert.ok(grown.length > 0, "no file has more code than after keelson version");
    for (const [name, size] of before) assert.ok(after.get(name)! >= size, name);
    const content = compiled();
    run("apiserver", "--help");
    runVersion();
    assert.deepEqual(compiled(), content);
  });
});
