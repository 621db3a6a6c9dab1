/** Parses versions with the rules and error messages of Go's `blang/semver`. */
import type { SemanticVersion } from "#base";
import { goQuote } from "#meta";
import { CelFault } from "../../value/values.ts";

const maxUint64 = 2n ** 64n - 1n;

/** Throws CelFault. */
export function parseVersion(text: string): SemanticVersion {
  if (text === "") throw new CelFault("Version string empty");
  const [major, minor, rest] = split(text);
  if (major === undefined || minor === undefined || rest === undefined) {
    throw new CelFault("No Major.Minor.Patch elements found");
  }
  const numbers = [number(major, "major"), number(minor, "minor")] as const;
  const plus = rest.indexOf("+");
  const release = plus < 0 ? rest : rest.slice(0, plus);
  const dash = release.indexOf("-");
  const patch = number(dash < 0 ? release : release.slice(0, dash), "patch");
  const prerelease = dash < 0 ? [] : release.slice(dash + 1).split(".");
  for (const part of prerelease) checkPrerelease(part);
  if (plus >= 0) for (const part of rest.slice(plus + 1).split(".")) checkBuild(part);
  return { numbers: [...numbers, patch], prerelease };
}

/** Parses leniently (`ParseTolerant`): `v1.02` is 1.2.0. @throws CelFault */
export function parseLenientVersion(text: string): SemanticVersion {
  const parts = split(text.replace(/^v/, "")).map((part) => {
    if (part.length <= 1) return part;
    const trimmed = part.replace(/^0+/, "");
    return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) {
    throw new CelFault("short version cannot contain PreRelease/Build meta data");
  }
  while (parts.length < 3) parts.push("0");
  return parseVersion(parts.join("."));
}

/** Splits at dots into at most three parts. */
function split(text: string): string[] {
  const [first = "", second, ...rest] = text.split(".");
  if (second === undefined) return [first];
  return rest.length === 0 ? [first, second] : [first, second, rest.join(".")];
}

function number(text: string, name: "major" | "minor" | "patch"): bigint {
  const quoted = goQuote(text);
  if (!/^\d*$/.test(text))
    throw new CelFault(`Invalid character(s) found in ${name} number ${quoted}`);
  if (hasLeadingZero(text)) {
    const named = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    throw new CelFault(`${named} number must not contain leading zeroes ${quoted}`);
  }
  return unsigned(text);
}

function unsigned(text: string): bigint {
  const fault = (why: string): CelFault =>
    new CelFault(`strconv.ParseUint: parsing ${goQuote(text)}: ${why}`);
  if (text === "") throw fault("invalid syntax");
  if (text.length > 20 || BigInt(text) > maxUint64) throw fault("value out of range");
  return BigInt(text);
}

function hasLeadingZero(text: string): boolean {
  return text.length > 1 && text.startsWith("0");
}

function checkPrerelease(part: string): void {
  if (part === "") throw new CelFault("Prerelease is empty");
  if (/^\d+$/.test(part)) {
    if (hasLeadingZero(part)) {
      const why = "Numeric PreRelease version must not contain leading zeroes";
      throw new CelFault(`${why} ${goQuote(part)}`);
    }
    unsigned(part);
  } else if (!/^[0-9A-Za-z-]+$/.test(part)) {
    throw new CelFault(`Invalid character(s) found in prerelease ${goQuote(part)}`);
  }
}

function checkBuild(part: string): void {
  if (part === "") throw new CelFault("Build meta data is empty");
  if (/^[0-9A-Za-z-]+$/.test(part)) return;
  throw new CelFault(`Invalid character(s) found in build meta data ${goQuote(part)}`);
}
