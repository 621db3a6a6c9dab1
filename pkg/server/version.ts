/** What `/version` says. */
import { required, type Infer, value, string, structs } from "#schema";

/** The release of the API that is served, and of the program that serves it. */
const release = { major: "1", minor: "34", gitVersion: "v1.34.0+keelson" } as const;

export const versionStruct = structs("apimachinery/pkg/version")("Info", "Versions of a server.", {
  major: required(1, string, "Major version of the program."),
  minor: required(2, string, "Minor version of the program."),
  emulationMajor: value(3, string, "Major version whose behaviour is shown."),
  emulationMinor: value(4, string, "Minor version whose behaviour is shown."),
  minCompatibilityMajor: value(5, string, "Major version of the oldest compatible program."),
  minCompatibilityMinor: value(6, string, "Minor version of the oldest compatible program."),
  gitVersion: required(7, string, "Release in full, as semantic version."),
  gitCommit: required(8, string, "Commit that was built, if known."),
  gitTreeState: required(9, string, "`clean`, or `dirty` with changes that were never committed."),
  buildDate: required(10, string, "When it was built, RFC 3339."),
  goVersion: required(11, string, "Runtime and its version."),
  compiler: required(12, string, "Compiler."),
  platform: required(13, string, "Operating system and architecture."),
});

export function versionInfo(): Infer<typeof versionStruct> {
  return {
    major: release.major,
    minor: release.minor,
    emulationMajor: release.major,
    emulationMinor: release.minor,
    minCompatibilityMajor: release.major,
    minCompatibilityMinor: String(Number(release.minor) - 1),
    gitVersion: release.gitVersion,
    gitCommit: "",
    gitTreeState: "clean",
    // Clients parse this as a time; a build is reproducible, so it has none of its own.
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node ${process.version}`,
    compiler: "tsc",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}
