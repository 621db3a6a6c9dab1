// The Node.js that the project's commands run on: the pinned one, unless this one is as new. Uses only Node's own modules.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const directory = path.join(path.dirname(fileURLToPath(import.meta.url)), "runtime");
const lock = JSON.parse(readFileSync(path.join(directory, "package-lock.json"), "utf8"));

/**
 * Returns at once on a Node that is at least the pinned one's major version. Otherwise installs the
 * pinned Node where it has none yet, runs this script on it with the same arguments, and exits with
 * its code. Where it cannot be had (another platform, no registry) or KEELSON_NODE=system refuses
 * it, the script goes on with this Node.
 */
export async function onPinnedNode() {
  const pinned = lock.packages[`node_modules/${packageName}`];
  if (pinned === undefined || process.env.KEELSON_NODE === "system") return;
  if (major(process.versions.node) >= major(pinned.version)) return;
  if (installedVersion() !== pinned.version) install(pinned.version);
  if (installedVersion() !== pinned.version) return;
  const node = path.join(directory, "node_modules", packageName, "bin", "node");
  await runInstead(node, [...process.execArgv, ...process.argv.slice(1)]);
}

/** The executable of the pinned Node, which is installed where it is not there yet. */
export function pinnedNode() {
  const { version } = lock.packages[`node_modules/${packageName}`] ?? {};
  if (version === undefined) throw new Error(`no Node is pinned for ${packageName}`);
  if (installedVersion() !== version) install(version);
  if (installedVersion() !== version) throw new Error(`Node ${version} cannot be installed`);
  return path.join(directory, "node_modules", packageName, "bin", "node");
}

const packageName = `node-${process.platform}-${process.arch}`;

function major(version) {
  return Number.parseInt(version, 10);
}

function installedVersion() {
  const file = path.join(directory, "node_modules", packageName, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

function install(version) {
  console.error(
    `keelson: installing Node ${version} into scripts/runtime/node_modules ` +
      `(this one is ${process.versions.node}; KEELSON_NODE=system keeps it)`,
  );
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const options = { cwd: directory, stdio: ["ignore", "ignore", "inherit"] };
  const { status } = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], options);
  if (status !== 0) console.error(`keelson: going on with Node ${process.versions.node}`);
}

/** Runs a command in place of this process: passes signals on, and exits as the command does. */
export async function runInstead(command, words) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  const running = spawn(command, words, { stdio: "inherit" });
  for (const signal of signals) {
    // A terminal sends its interrupt to both processes.
    const isSentToBoth = signal === "SIGINT" && process.stdin.isTTY;
    process.on(signal, () => isSentToBoth || running.kill(signal));
  }
  const [code, signal] = await once(running, "exit");
  if (signal === null) process.exit(code);
  for (const each of signals) process.removeAllListeners(each);
  process.kill(process.pid, signal);
}
