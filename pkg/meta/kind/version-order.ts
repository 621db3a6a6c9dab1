/**
 * Sorts versions by preference: stable before beta before alpha, then higher numbers first; other names
 * come last in alphabetical order: v10, v2, v1, v11beta2, v10beta3, v3beta1,
 * v12alpha1, foo.
 */
export function compareVersions(a: string, b: string): number {
  const left = versionParts(a);
  const right = versionParts(b);
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    return right !== undefined ? 1 : compareText(a, b);
  }
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

const stabilities = ["alpha", "beta"];

function versionParts(version: string) {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return undefined;
  const [, major = "", stage, minor = "0"] = match;
  if (!isInt64(major) || !isInt64(minor)) return undefined;
  const stability = stage === undefined ? stabilities.length : stabilities.indexOf(stage);
  return { stability, major: Number(major), minor: Number(minor) };
}

/** Larger numbers make a version a name like any other. */
function isInt64(digits: string): boolean {
  return BigInt(digits) < 2n ** 63n;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
