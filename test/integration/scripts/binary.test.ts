/** `npm run build:binary`: the program as a single executable. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { root } from "../../tidy/source.ts";

const binary = path.join(root, "dist", "binary", "keelson");
const isMade = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);
const maxBytes = 130e6;

function build(): string {
  const script = path.join(root, "scripts", "binary.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const bytes = readFileSync(binary);
  assert.ok(bytes.length < maxBytes, `${bytes.length} bytes`);
  return createHash("sha256").update(bytes).digest("hex");
}

describe("the single executable", () => {
  let folder: string;
  const children: ChildProcess[] = [];
  before(function () {
    if (!isMade) this.skip();
    folder = mkdtempSync(path.join(tmpdir(), "keelson-binary-"));
  });
  after(() => {
    for (const child of children) child.kill("SIGKILL");
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it("is reproducible", function () {
    this.timeout(600_000);
    assert.equal(build(), build());
  });

  it("runs without Node and its packages, on the embedded store", async () => {
    const words = ["start", "--secure-port=0", "--nodes=0", "--data-dir=data"];
    const env = { PATH: "/nonexistent", TMPDIR: folder };
    const child = spawn(binary, words, { cwd: folder, env });
    children.push(child);
    let text = "";
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    await new Promise<void>((resolve, reject) => {
      const take = (chunk: Buffer) => {
        text += chunk;
        if (/ is ready;/.test(text)) resolve();
      };
      child.stdout.on("data", take);
      child.stderr.on("data", take);
      child.once("close", () => reject(new Error(text)));
    });
    assert.ok(existsSync(path.join(folder, "data", "store")));
    child.kill("SIGTERM");
    assert.equal(await ended, 0, text);
  });

  it("reports errors like the program on Node", () => {
    const { status, stderr } = spawnSync(binary, ["serve"], { encoding: "utf8", cwd: folder });
    assert.equal(status, 1);
    assert.equal(stderr, 'keelson: unknown command "serve"; see keelson --help\n');
  });
});
