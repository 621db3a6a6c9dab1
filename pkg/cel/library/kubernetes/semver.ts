/** Kubernetes' semver library. */
import { compareSemver, type SemanticVersion } from "#base";
import { define, type Library, overload } from "../../check/declare.ts";
import { parseLenientVersion, parseVersion } from "./go-semver.ts";
import { canonical, CelFault, Opaque, type Value } from "../../value/values.ts";

const semverType = "kubernetes.Semver";

type Semver = Opaque<SemanticVersion>;

/** Parses a version; with `lenient`, `v1.02` is 1.2.0. @throws CelFault */
export function semverValue(text: string, lenient = false): Semver {
  const version = lenient ? parseLenientVersion(text) : parseVersion(text);
  const { numbers, prerelease } = version;
  return new Opaque(semverType, version, JSON.stringify([numbers.map(String), prerelease]));
}

function accepts(text: string, lenient = false): Value {
  try {
    semverValue(text, lenient);
    return true;
  } catch (error) {
    if (error instanceof CelFault) return false;
    throw error;
  }
}

function compare({ content: left }: Semver, { content: right }: Semver): number {
  return compareSemver(left, right);
}

const number =
  (at: 0 | 1 | 2) =>
  ({ content }: Semver): Value =>
    canonical(BigInt.asIntN(64, content.numbers[at]));

export const semverLibrary: Library = {
  functions: [
    define(
      "semver",
      overload("string_to_semver", `(string) -> ${semverType}`, (text: string) =>
        semverValue(text),
      ),
      overload("string_bool_to_semver", `(string, bool) -> ${semverType}`, semverValue),
    ),
    define(
      "isSemver",
      overload("is_semver_string", "(string) -> bool", (text: string) => accepts(text)),
      overload("is_semver_string_bool", "(string, bool) -> bool", accepts),
    ),
    define("major", overload("semver_major", `${semverType}.() -> int`, number(0))),
    define("minor", overload("semver_minor", `${semverType}.() -> int`, number(1))),
    define("patch", overload("semver_patch", `${semverType}.() -> int`, number(2))),
    define(
      "compareTo",
      overload("semver_compare_to", `${semverType}.(${semverType}) -> int`, compare),
    ),
    define(
      "isGreaterThan",
      overload(
        "semver_is_greater_than",
        `${semverType}.(${semverType}) -> bool`,
        (left: Semver, right: Semver) => compare(left, right) > 0,
      ),
    ),
    define(
      "isLessThan",
      overload(
        "semver_is_less_than",
        `${semverType}.(${semverType}) -> bool`,
        (left: Semver, right: Semver) => compare(left, right) < 0,
      ),
    ),
  ],
};
