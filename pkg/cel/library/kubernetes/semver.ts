/** Versions as semver.org orders them. */
import { define, type Library, overload, readType } from "../../check/declare.ts";
import { canonical, CelFault, Opaque, type Value } from "../../value/values.ts";

const TYPE = "kubernetes.Semver";
const LONGEST = 1_000;
const LARGEST = 2n ** 64n - 1n;

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
  readonly build: readonly string[];
}

type Semver = Opaque<Version>;

const part = "[0-9A-Za-z-]+";
const form = new RegExp(
  `^(\\d+)\\.(\\d+)\\.(\\d+)(?:-(${part}(?:\\.${part})*))?(?:\\+(${part}(?:\\.${part})*))?$`,
);

/** Throws CelFault. With `lenient`, `v1.02` is 1.2.0. */
function parse(text: string, lenient = false): Semver {
  const parts = form.exec(lenient ? normalized(text) : text);
  if (parts === null || text.length > LONGEST) {
    throw new CelFault(`invalid semantic version: ${JSON.stringify(text)}`);
  }
  const [, major = "", minor = "", patch = "", pre, build] = parts;
  const identifiers = pre?.split(".") ?? [];
  const leadingZero = [major, minor, patch, ...identifiers].some((one) => /^0\d+$/.test(one));
  const numbers = [BigInt(major), BigInt(minor), BigInt(patch)] as const;
  if (leadingZero || numbers.some((number) => number > LARGEST)) {
    throw new CelFault(`invalid semantic version: ${JSON.stringify(text)}`);
  }
  const version: Version = { numbers, pre: identifiers, build: build?.split(".") ?? [] };
  return new Opaque(TYPE, version, JSON.stringify([numbers.map(String), identifiers]));
}

function normalized(text: string): string {
  const [, core = "", rest = ""] = /^v?([0-9.]*)(.*)$/s.exec(text) ?? [];
  const numbers = core.split(".").map((number) => number.replace(/^0+(?=\d)/, ""));
  if (numbers.length > 3 || numbers.includes("")) return text;
  while (numbers.length < 3) numbers.push("0");
  return numbers.join(".") + rest;
}

function accepts(text: string, lenient = false): Value {
  try {
    parse(text, lenient);
    return true;
  } catch (error) {
    if (error instanceof CelFault) return false;
    throw error;
  }
}

function compare({ content: left }: Semver, { content: right }: Semver): number {
  for (let at = 0; at < 3; at++) {
    const difference = (left.numbers[at] ?? 0n) - (right.numbers[at] ?? 0n);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
  }
  // A release comes after all that lead to it.
  if (left.pre.length === 0 || right.pre.length === 0) {
    return Math.sign(right.pre.length - left.pre.length);
  }
  for (let at = 0; at < Math.min(left.pre.length, right.pre.length); at++) {
    const order = compareIdentifiers(left.pre[at] ?? "", right.pre[at] ?? "");
    if (order !== 0) return order;
  }
  return Math.sign(left.pre.length - right.pre.length);
}

/** Numbers come before words. */
function compareIdentifiers(left: string, right: string): number {
  const leftIsNumber = /^\d+$/.test(left);
  const rightIsNumber = /^\d+$/.test(right);
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  if (!leftIsNumber) return left < right ? -1 : Number(left > right);
  const difference = BigInt(left) - BigInt(right);
  return difference < 0n ? -1 : Number(difference > 0n);
}

const number =
  (at: 0 | 1 | 2) =>
  ({ content }: Semver): Value =>
    canonical(content.numbers[at]);

export const semverLibrary: Library = {
  types: [readType(TYPE)],
  functions: [
    define(
      "semver",
      overload("string_to_semver", `(string) -> ${TYPE}`, (text: string) => parse(text)),
      overload("string_bool_to_semver", `(string, bool) -> ${TYPE}`, parse),
    ),
    define(
      "isSemver",
      overload("is_semver_string", "(string) -> bool", (text: string) => accepts(text)),
      overload("is_semver_string_bool", "(string, bool) -> bool", accepts),
    ),
    define("major", overload("semver_major", `${TYPE}.() -> int`, number(0))),
    define("minor", overload("semver_minor", `${TYPE}.() -> int`, number(1))),
    define("patch", overload("semver_patch", `${TYPE}.() -> int`, number(2))),
    define("compareTo", overload("semver_compare_to", `${TYPE}.(${TYPE}) -> int`, compare)),
    define(
      "isGreaterThan",
      overload(
        "semver_is_greater_than",
        `${TYPE}.(${TYPE}) -> bool`,
        (left: Semver, right: Semver) => compare(left, right) > 0,
      ),
    ),
    define(
      "isLessThan",
      overload(
        "semver_is_less_than",
        `${TYPE}.(${TYPE}) -> bool`,
        (left: Semver, right: Semver) => compare(left, right) < 0,
      ),
    ),
  ],
};
