import { versionInfo } from "#server";
import { flag, UsageError } from "../flags/parse.ts";

/** Keelson's own version, as in package.json. */
export const keelsonVersion = "0.1.0";

/** Help of `--version`, a flag of Kubernetes' programs; `takeVersion` parses it. */
export const versionFlags = {
  version: flag(
    "string",
    "",
    "show the version and exit; --version=raw shows all details, " +
      `--version=v${release()}.x is accepted without effect`,
  ),
} as const;

/**
 * Removes `--version[=true|false|raw|vX.Y.Z...]` from `words` and returns the text to print, if
 * any. An empty value is ignored, because scripts pass unset variables.
 * @throws UsageError for other values, and for a version that is not this release
 */
export function takeVersion(words: readonly string[]): {
  readonly words: readonly string[];
  readonly version?: string;
} {
  const isVersion = (word: string) => /^--version(?:=|$)/.test(word);
  const given = words.findLast(isVersion);
  const rest = words.filter((word) => !isVersion(word));
  const value = given === undefined ? "false" : given === "--version" ? "true" : given.slice(10);
  if (["", "false", "0"].includes(value)) return { words: rest };
  if (["true", "1", "raw"].includes(value)) return { words: rest, version: versionText(value) };
  if (minorOf(value) === release()) return { words: rest };
  const wanted = `must be true, false, raw or begin with v${release()}`;
  throw new UsageError(`invalid argument ${JSON.stringify(value)} for "--version" flag: ${wanted}`);
}

/** `keelson v1.34.9 (Keelson 0.1.0)`, or all details as JSON for `raw`. */
export function versionText(value: string): string {
  const info = versionInfo();
  return value === "raw"
    ? JSON.stringify({ ...info, keelsonVersion }, null, 2)
    : `keelson ${info.gitVersion} (Keelson ${keelsonVersion})`;
}

/** Major and minor version; patch releases and builds have the same API and flags. */
function release(): string {
  return minorOf(versionInfo().gitVersion) ?? "";
}

function minorOf(version: string): string | undefined {
  return /^v(\d+\.\d+)\.\d+(?:[-+].*)?$/.exec(version)?.[1];
}
