// `npm test`: installs, builds, finds etcd, checks types, runs every test; says how many passed.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./setup.mjs";

ensureInstalled();
await ensureBuilt();
ensureEtcd();
run(path.join(root, "node_modules", ".bin", "tsc"), ["--noEmit"]);
const named = process.argv.slice(2);
// What takes long comes first, so that no core is left without work at the end.
const every = ["test/**/*.test.ts", "cmd/**/*.test.ts", "pkg/**/*.test.ts"];
runTests(named.length > 0 ? named : every);

/** Several files at a time, each in a process that runs nothing else meanwhile. */
function runTests(files) {
  const mocha = path.join(root, "node_modules", "mocha", "bin", "mocha.js");
  // Tests wait half of their time, so two may share a core; what takes longest keeps few busy.
  const jobs = Math.min(Math.max(availableParallelism(), 2), 8);
  const words = [mocha, "--parallel", `--jobs=${jobs}`, ...files];
  // A group of processes of its own, which ends as one, whatever a test has started.
  const options = { cwd: root, stdio: "inherit", detached: true };
  const running = spawn(process.execPath, words, options);
  let isCutShort = false;
  const end = (signal) => {
    isCutShort = true;
    process.kill(-running.pid, signal);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, end);
  // Several times of what they take; a run that hangs must say so to whoever waits for it.
  const patience = setTimeout(() => end("SIGKILL"), 40 * 60_000);
  running.once("close", (code) => {
    clearTimeout(patience);
    // Mocha takes an interrupted run for a good one.
    process.exit(isCutShort ? 1 : (code ?? 1));
  });
}

/** The storage tests run against a real etcd: the one on PATH, else Debian's package where it may be installed. */
function ensureEtcd() {
  if (onPath("etcd")) return;
  const mayInstall = process.getuid?.() === 0 && onPath("apt-get");
  if (mayInstall) {
    console.error("keelson: installing etcd-server from the distribution");
    const quiet = { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    spawnSync("apt-get", ["update", "-qq"], quiet);
    spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "etcd-server"], quiet);
    if (onPath("etcd")) return;
  }
  console.error(
    "keelson: the tests need etcd: put an `etcd` binary (3.4 or newer) on PATH, " +
      "for example with `apt-get install etcd-server`, and run `npm test` again.",
  );
  process.exit(1);
}

function onPath(name) {
  return (process.env.PATH ?? "")
    .split(path.delimiter)
    .some((directory) => directory !== "" && existsSync(path.join(directory, name)));
}
