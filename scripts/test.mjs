// `npm test [FILES]`: installs dependencies and etcd if needed, builds, checks types, and runs the tests.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { onPinnedNode } from "./runtime.mjs";
import { ensureBuilt, ensureInstalled, root, run } from "./setup.mjs";

await onPinnedNode();
ensureInstalled();
await ensureBuilt();
ensureEtcd();
run(path.join(root, "node_modules", ".bin", "tsc"), ["--noEmit"]);
const files = process.argv.slice(2);
// Slow tests first, so that all cores are busy until the end.
const allTests = ["test/**/*.test.ts", "cmd/**/*.test.ts", "pkg/**/*.test.ts"];
runTests(files.length > 0 ? files : allTests);

/** Runs the test files in parallel, each in its own process. */
function runTests(files) {
  const mocha = path.join(root, "node_modules", "mocha", "bin", "mocha.js");
  // One file per core, but at least two: tests are idle for about half of their time.
  const jobs = Math.min(Math.max(availableParallelism(), 2), 8);
  const args = [mocha, "--parallel", `--jobs=${jobs}`, ...files];
  // A new process group, so that signals also reach processes that tests have started.
  const options = { cwd: root, stdio: "inherit", detached: true };
  const child = spawn(process.execPath, args, options);
  let isInterrupted = false;
  const end = (signal) => {
    isInterrupted = true;
    process.kill(-child.pid, signal);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, end);
  // Several times the usual duration: a run that hangs must fail.
  const timeout = setTimeout(() => end("SIGKILL"), 40 * 60_000);
  child.once("close", (code) => {
    clearTimeout(timeout);
    // An interrupted mocha exits with 0.
    process.exit(isInterrupted ? 1 : (code ?? 1));
  });
}

/**
 * Exits if etcd, which the storage tests need, is not on PATH. On Debian as root, installs the package
 * etcd-server instead, unless KEELSON_NO_INSTALL=1 is set.
 */
function ensureEtcd() {
  if (onPath("etcd")) return;
  const mayInstall = (process.env.KEELSON_NO_INSTALL ?? "") === "";
  if (mayInstall && process.getuid?.() === 0 && onPath("apt-get")) {
    console.error(
      "keelson: etcd is not on PATH: installing the package etcd-server with apt-get, as root " +
        "(KEELSON_NO_INSTALL=1 refuses this)",
    );
    installEtcd();
    if (onPath("etcd")) return;
  }
  console.error(
    "keelson: the tests need etcd: put an `etcd` binary (3.4 or newer) on PATH, " +
      "for example with `apt-get install etcd-server`, and run `npm test` again.",
  );
  process.exit(1);
}

function installEtcd() {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { stdio: ["ignore", "ignore", "inherit"], env };
  spawnSync("apt-get", ["update", "-qq"], options);
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "etcd-server"], options);
}

function onPath(name) {
  return (process.env.PATH ?? "")
    .split(path.delimiter)
    .some((directory) => directory !== "" && existsSync(path.join(directory, name)));
}
