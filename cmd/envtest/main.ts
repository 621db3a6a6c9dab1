import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { versionInfo } from "#server";
import { flag, type FlagValues, parseFlags, UsageError } from "../flags/parse.ts";
import { type AssetPrograms, shellQuote, writeAssets } from "./assets.ts";
import { endWithParent } from "./end-with-parent.ts";
import { runEtcdStandIn } from "./etcd.ts";
import { serverCommand } from "./kube-apiserver.ts";

const formats = ["path", "env", "overview"];

const envtestFlags = {
  dir: flag("string", "", "directory of the programs (default: one in the user's cache directory)"),
  print: flag(
    "string",
    "env",
    "output: the path, shell commands that set the environment, or an overview",
    { values: formats },
  ),
} as const;

/** Flags of `keelson envtest use`, which are those of setup-envtest. */
const useFlags = {
  dir: envtestFlags.dir,
  "bin-dir": flag("string", "", "directory that holds k8s/<version>-<os>-<arch>/"),
  print: { ...envtestFlags.print, default: "overview" },
  p: flag("string", "", "short for --print", { values: ["", ...formats] }),
  "installed-only": flag("bool", false, "accepted, without effect"),
  i: flag("bool", false, "accepted, without effect"),
  "use-env": flag("bool", false, "accepted, without effect"),
} as const;

/**
 * `keelson envtest`: writes the directory of programs; also the entry point of the scripts in it.
 */
async function runEnvtest(words: readonly string[]): Promise<void> {
  const [first, ...rest] = words;
  switch (first) {
    case "kube-apiserver": {
      endWithParent();
      const { command, words: flags } = await serverCommand(rest, process.env);
      const { apiserverCommand, startCommand } = await import("../apiserver/main.ts");
      return (command === "start" ? startCommand : apiserverCommand).run(flags);
    }
    case "etcd":
      return runEtcdStandIn(rest);
    case "use":
      return runUse(rest);
    default: {
      const { dir, print } = parseFlags(envtestFlags, words);
      return layOut(path.resolve(dir || cacheDirectory()), print, "all variables");
    }
  }
}

/** Prints what `setup-envtest use` prints. */
async function runUse(words: readonly string[]): Promise<void> {
  const others: string[] = [];
  const values = parseFlags(useFlags, words, others);
  checkVersion(others);
  const directory = useDirectory(values);
  await layOut(directory, values.p || values.print, "KUBEBUILDER_ASSETS alone");
}

function useDirectory(values: FlagValues<typeof useFlags>): string {
  if (values.dir !== "") return path.resolve(values.dir);
  if (values["bin-dir"] === "") return cacheDirectory();
  const folder = `${release()}-${platform().replace("/", "-")}`;
  return path.resolve(values["bin-dir"], "k8s", folder);
}

/** Accepts the versions of setup-envtest that this build serves: `1.34`, `1.34.x!`, `latest`. */
function checkVersion([version = "latest", ...others]: readonly string[]): void {
  if (others.length > 0) throw new UsageError(`unexpected argument: ${JSON.stringify(others[0])}`);
  const [major, minor] = release().split(".");
  const served = new RegExp(`^~?${major}\\.(?:${minor}(?:\\.(?:\\d+|x|\\*))?|x|\\*)!?$`);
  if (/^latest(?:-on-disk)?!?$/.test(version) || served.test(version)) return;
  throw new UsageError(`this build serves Kubernetes ${major}.${minor}, not ${version}`);
}

async function layOut(
  directory: string,
  print: string,
  exported: "all variables" | "KUBEBUILDER_ASSETS alone",
): Promise<void> {
  if (process.platform === "win32") throw new UsageError("envtest runs on Linux and macOS");
  const files = await writeAssets(directory, programs());
  if (print === "path") {
    process.stdout.write(directory);
  } else if (print === "overview") {
    console.log(`Version: ${release()}\nOS/Arch: ${platform()}\nPath: ${directory}`);
  } else {
    const more = exported === "all variables" ? assetVariables(files) : [];
    const variables = [["KUBEBUILDER_ASSETS", directory] as const, ...more];
    for (const [name, value] of variables) console.log(`export ${name}=${shellQuote(value)}`);
  }
}

/**
 * TEST_ASSET_* variables, which take precedence over the KUBEBUILDER_ASSETS that kubebuilder's
 * Makefiles set.
 */
function assetVariables(
  files: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  return Object.entries(files).map(([name, file]) => [
    `TEST_ASSET_${name.toUpperCase().replaceAll("-", "_")}`,
    file,
  ]);
}

/**
 * Command lines of this Node and this build with absolute paths, because IDEs run tests with
 * another PATH.
 */
function programs(): AssetPrograms {
  const program = realpathSync(process.argv[1] ?? process.execPath);
  const isExecutable = program === realpathSync(process.execPath);
  const keelson = isExecutable ? [program] : [process.execPath, program];
  const light = path.join(path.dirname(program), "envtest-etcd.js");
  const isBuilt = !isExecutable && existsSync(light);
  return { keelson, etcd: isBuilt ? [process.execPath, light] : [...keelson, "envtest", "etcd"] };
}

/**
 * Cache directory of this Node and build, so that several versions of Keelson can be used at the
 * same time.
 */
function cacheDirectory(): string {
  const { XDG_CACHE_HOME: cache } = process.env;
  const home = process.platform === "darwin" ? "Library/Caches" : ".cache";
  const parent = cache && path.isAbsolute(cache) ? cache : path.join(homedir(), home);
  const { keelson } = programs();
  const name = createHash("sha256").update(keelson.join("\0")).digest("hex").slice(0, 12);
  return path.join(parent, "keelson", "envtest", name);
}

/** The served Kubernetes release without build metadata: `1.34.0`. */
function release(): string {
  return versionInfo().gitVersion.replace(/^v/, "").replace(/\+.*$/, "");
}

/** The platform in Go's terms, as setup-envtest prints it: `linux/amd64`. */
function platform(): string {
  const names: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };
  return `${process.platform}/${names[process.arch] ?? process.arch}`;
}

export const envtestCommand = {
  groups: [{ heading: "Envtest", flags: envtestFlags }],
  run: runEnvtest,
} as const;
