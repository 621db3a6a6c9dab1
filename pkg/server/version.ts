/** The document at `/version`. */
import { required, type Infer, value, string, structs } from "#schema";

/** The release of the API that is served, and of the program that serves it. */
const release = { major: "1", minor: "34", gitVersion: "v1.34.0+keelson" } as const;

export const versionStruct = structs("apimachinery/pkg/version")(
  "Info",
  "Version and build of the API server.",
  {
    major: required(1, string, "Major version of the server, for example `1`."),
    minor: required(2, string, "Minor version of the server, for example `34`."),
    emulationMajor: value(3, string, "Major version of the release that the server emulates."),
    emulationMinor: value(4, string, "Minor version of the release that the server emulates."),
    minCompatibilityMajor: value(
      5,
      string,
      "Major version of the oldest release that the server is compatible with.",
    ),
    minCompatibilityMinor: value(
      6,
      string,
      "Minor version of the oldest release that the server is compatible with.",
    ),
    gitVersion: required(7, string, "Complete semantic version, for example v1.34.0."),
    gitCommit: required(8, string, "Git commit of the build. Empty if unknown."),
    gitTreeState: required(
      9,
      string,
      "State of the Git work tree at the build: clean, or dirty with uncommitted changes.",
    ),
    buildDate: required(10, string, "Time of the build in RFC 3339 format."),
    goVersion: required(11, string, "Name and version of the runtime."),
    compiler: required(12, string, "Name of the compiler."),
    platform: required(13, string, "Operating system and architecture, for example `linux/amd64`."),
  },
);

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
    // Clients parse this as a time; builds are reproducible and so contain no build time.
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node ${process.version}`,
    compiler: "tsc",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}
