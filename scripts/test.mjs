// `npm test`: installs, builds, finds etcd, checks types, runs every test; says how many passed.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./setup.mjs";

ensureInstalled();
await ensureBuilt();
ensureEtcd();
run(path.join(root, "node_modules", ".bin", "tsc"), ["--noEmit"]);
const named = process.argv.slice(2);
const every = ["pkg/**/*.test.ts", "cmd/**/*.test.ts", "test/**/*.test.ts"];
const mocha = path.join(root, "node_modules", "mocha", "bin", "mocha.js");
const words = [mocha, ...(named.length > 0 ? named : every)];
// Several times of what they take; a run that hangs must say so to whoever waits for it.
run(process.execPath, words, { timeout: 40 * 60_000, killSignal: "SIGKILL" });

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
