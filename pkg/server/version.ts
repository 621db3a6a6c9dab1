/** What `/version` says. */

/** The release of the API that is served, and of the program that serves it. */
const release = { major: "1", minor: "34", gitVersion: "v1.34.0+keelson" } as const;

/** The fields of Kubernetes' version.Info, all strings. */
export function versionInfo(): Readonly<Record<string, string>> {
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
