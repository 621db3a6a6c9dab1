/**
 * Scripts of the directory that KUBEBUILDER_ASSETS names for envtest: `kube-apiserver`, `etcd`,
 * `kubectl`.
 */
import path from "node:path";
import { writeFileAtomically } from "#controlplane";

export interface AssetPrograms {
  /**
   * Command line of `keelson` with absolute paths: Node and the program, or a single executable.
   */
  readonly keelson: readonly string[];
  /** Command line of the stand-in for etcd. */
  readonly etcd: readonly string[];
}

/** First comment line of each script; the search on PATH skips files that contain it. */
const mark = "# Written by keelson envtest";

/**
 * Writes the three scripts into `directory` and returns their paths by name. Each file is replaced
 * atomically, so that concurrent test suites can share a directory.
 */
export async function writeAssets(
  directory: string,
  programs: AssetPrograms,
): Promise<Readonly<Record<string, string>>> {
  const scripts: Readonly<Record<string, string>> = {
    "kube-apiserver": apiserverScript(directory, programs.keelson),
    etcd: etcdScript(programs.etcd),
    kubectl: kubectlScript(),
  };
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(scripts)) {
    const file = path.join(directory, name);
    await writeFileAtomically(file, text, 0o755);
    files[name] = file;
  }
  return files;
}

/** Quotes `text` as a word of a POSIX shell command. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

function shellCommand(words: readonly string[]): string {
  return words.map(shellQuote).join(" ");
}

/** A POSIX shell script, because Alpine has no bash and macOS has an old one. */
function script(lines: readonly string[]): string {
  return `${["#!/bin/sh", `${mark}; running it again replaces this file.`, ...lines].join("\n")}\n`;
}

/** Prints --help without starting Node: envtest runs it before each start to detect flags. */
function helpCase(usage: string): readonly string[] {
  return ['case "$1" in', "--help | -h)", `  echo ${shellQuote(usage)}`, "  exit 0", "  ;;"];
}

/** Makes the script fail with a reason if a program has been removed, e.g. from npx's cache. */
function requirePrograms(words: readonly string[]): readonly string[] {
  return words
    .filter((word) => path.isAbsolute(word))
    .map((word) => {
      const reason = `keelson: ${word} is gone: run keelson envtest again`;
      return `[ -e ${shellQuote(word)} ] || { echo ${shellQuote(reason)} >&2; exit 127; }`;
    });
}

function apiserverScript(directory: string, keelson: readonly string[]): string {
  const cache = shellQuote(path.join(directory, "compile-cache"));
  return script([
    ...helpCase("Usage: kube-apiserver [flags]. `keelson apiserver --help` lists the flags."),
    "esac",
    ...requirePrograms(keelson),
    'case "$1" in',
    `--version*) exec ${shellCommand([...keelson, "apiserver"])} "$@" ;;`,
    "esac",
    // Node 22.1 and newer stores compiled code there; later starts need a third less CPU.
    `[ -n "$NODE_COMPILE_CACHE" ] || NODE_COMPILE_CACHE=${cache}`,
    "export NODE_COMPILE_CACHE",
    `exec ${shellCommand([...keelson, "envtest", "kube-apiserver"])} "$@"`,
  ]);
}

function etcdScript(standIn: readonly string[]): string {
  return script([
    ...searchOnPath,
    'if [ "$KEELSON_ENVTEST_STORE" = etcd ]; then',
    ...execOther("etcd", "KEELSON_ENVTEST_STORE=etcd needs etcd on PATH"),
    "fi",
    ...helpCase("Usage: etcd [flags]. A stand-in: KEELSON_ENVTEST_STORE=etcd runs etcd itself."),
    "esac",
    ...requirePrograms(standIn),
    `exec ${shellCommand(standIn)} "$@"`,
  ]);
}

function kubectlScript(): string {
  return script([
    ...searchOnPath,
    ...execOther("kubectl", "there is no kubectl on PATH; Keelson does not contain one"),
  ]);
}

/**
 * Shell function that finds a program on PATH other than these scripts. It uses only shell
 * builtins, because PATH may contain no other programs.
 */
const searchOnPath: readonly string[] = [
  "search_on_path() {",
  "  set -f",
  "  IFS=:",
  "  for folder in $PATH; do",
  '    if [ -f "$folder/$1" ] && [ -x "$folder/$1" ]; then',
  '      { read -r line; read -r line; } < "$folder/$1"',
  `      case "$line" in ${shellQuote(mark)}*) continue ;; esac`,
  '      printf %s "$folder/$1"',
  "      return 0",
  "    fi",
  "  done",
  "  return 1",
  "}",
];

function execOther(name: string, reason: string): readonly string[] {
  return [
    `  if other=$(search_on_path ${name}); then exec "$other" "$@"; fi`,
    `  echo ${shellQuote(`keelson: ${reason}`)} >&2`,
    "  exit 127",
  ];
}
