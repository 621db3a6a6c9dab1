// Runs the project's commands on the pinned Node.js, unless the current one is as new. Imports only built-in
// modules, since it runs before `npm ci`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const directory = path.join(path.dirname(fileURLToPath(import.meta.url)), "runtime");
const lock = JSON.parse(readFileSync(path.join(directory, "package-lock.json"), "utf8"));

/**
 * Returns immediately if this Node's major version is at least the pinned one. Otherwise installs the
 * pinned Node if it is missing, runs the script on it with the same arguments, and exits with its exit
 * code. Continues on this Node if the pinned one cannot be installed (unsupported platform, no
 * registry) or KEELSON_NODE=system is set.
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

/** The path of the pinned Node, which is installed if it is missing. */
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
  if (status !== 0) console.error(`keelson: continuing with Node ${process.versions.node}`);
}

/** Runs a command like exec(3): forwards signals to it, and ends with its exit code or signal. */
export async function runInstead(command, args) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  const child = spawn(command, args, { stdio: "inherit" });
  for (const forwarded of signals) {
    // A terminal sends SIGINT to both processes.
    const isSentToBoth = forwarded === "SIGINT" && process.stdin.isTTY;
    process.on(forwarded, () => isSentToBoth || child.kill(forwarded));
  }
  const [code, signal] = await once(child, "exit");
  if (signal === null) process.exit(code);
  for (const forwarded of signals) process.removeAllListeners(forwarded);
  process.kill(process.pid, signal);
}
