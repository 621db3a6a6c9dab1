// `npm test`: installs dependencies, builds, finds etcd, checks types, then runs every test, or those in the files named.
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
const named = process.argv.slice(2);
// Slow levels first, so that all cores stay busy until the end.
const every = ["test/**/*.test.ts", "cmd/**/*.test.ts", "pkg/**/*.test.ts"];
runTests(named.length > 0 ? named : every);

/** Runs several test files at a time, each in a process of its own. */
function runTests(files) {
  const mocha = path.join(root, "node_modules", "mocha", "bin", "mocha.js");
  // One test file per core, but at least two at a time: tests wait for half of their time.
  const jobs = Math.min(Math.max(availableParallelism(), 2), 8);
  const words = [mocha, "--parallel", `--jobs=${jobs}`, ...files];
  // A separate process group, so that signals also reach processes that the tests started.
  const options = { cwd: root, stdio: "inherit", detached: true };
  const running = spawn(process.execPath, words, options);
  let isInterrupted = false;
  const end = (signal) => {
    isInterrupted = true;
    process.kill(-running.pid, signal);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, end);
  // Several times the normal duration; a hung run must end with a failure.
  const timeout = setTimeout(() => end("SIGKILL"), 40 * 60_000);
  running.once("close", (code) => {
    clearTimeout(timeout);
    // Mocha exits with 0 when it is interrupted.
    process.exit(isInterrupted ? 1 : (code ?? 1));
  });
}

/**
 * The storage tests need a real etcd. Without one on PATH, root on Debian gets the distribution's package,
 * announced first; KEELSON_NO_INSTALL=1 refuses that.
 */
function ensureEtcd() {
  if (onPath("etcd")) return;
  const isRefused = (process.env.KEELSON_NO_INSTALL ?? "") !== "";
  if (!isRefused && process.getuid?.() === 0 && onPath("apt-get")) {
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
