// Installs dependencies and builds the bundle if needed, for `npm start` and `npm test`. Imports only
// built-in modules, since it runs before `npm ci`.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Runs a command in the project's root with inherited output; exits with its exit code if it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (result.error) {
    console.error(`${command} could not be run: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** Runs `npm ci` unless node_modules was installed from the same package-lock.json. */
export function ensureInstalled() {
  const lock = path.join(root, "package-lock.json");
  const stamp = path.join(root, "node_modules", ".keelson-lock");
  const lockText = readFileSync(lock, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lockText) return;
  console.error("keelson: installing dependencies into node_modules (npm ci)");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  run(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  writeFileSync(stamp, lockText);
}

/** Bundles cmd/ and pkg/ into dist/ unless the bundle is newer than every source. */
export async function ensureBuilt() {
  const built = path.join(root, "dist", ".built");
  if (existsSync(built) && statSync(built).mtimeMs > newestSource()) return;
  console.error("keelson: building");
  const { bundle } = await import("./bundle.mjs");
  await bundle(root);
  const { train } = await import("./train.mjs");
  await train(root);
  writeFileSync(built, "");
}

/** The latest modification time of the sources and the build scripts, in ms. */
function newestSource() {
  const fixed = [
    "package.json",
    "package-lock.json",
    "scripts/bundle.mjs",
    "scripts/chunk-modules.mjs",
    "scripts/index-imports.mjs",
    "scripts/train.mjs",
  ];
  const times = fixed.map((file) => statSync(path.join(root, file)).mtimeMs);
  const pending = ["pkg", "cmd"].map((name) => path.join(root, name));
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    times.push(statSync(directory).mtimeMs);
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const full = path.join(directory, entry.name);
      if (entry.isDirectory()) pending.push(full);
      else if (entry.name.endsWith(".ts")) times.push(statSync(full).mtimeMs);
    }
  }
  return Math.max(...times);
}
