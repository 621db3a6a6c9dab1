/** A version after semver.org 2.0.0; build metadata is dropped. */
export interface SemanticVersion {
  /** Major, minor and patch. */
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly string[];
}

const number = "(0|[1-9][0-9]*)";
const identifiers = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const pattern = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${identifiers}))?(?:\\+${identifiers})?$`,
);

/** Exactly `1.34.0`, `1.35.0-alpha.1`, `1.34.0+build`; undefined for anything else. */
export function parseSemver(text: string): SemanticVersion | undefined {
  const [, major, minor, patch, prerelease] = pattern.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const numbers = [BigInt(major), BigInt(minor), BigInt(patch)] as const;
  const parts = prerelease?.split(".") ?? [];
  if (parts.some((part) => /^0[0-9]+$/.test(part))) return undefined;
  return { numbers, prerelease: parts };
}

/** Negative, zero or positive as `left` precedes, equals or follows `right`. */
export function compareSemver(left: SemanticVersion, right: SemanticVersion): number {
  for (const [index, value] of left.numbers.entries()) {
    const order = compare(value, right.numbers[index] ?? 0n);
    if (order !== 0) return order;
  }
  const [a, b] = [left.prerelease, right.prerelease];
  // A release has higher precedence than its prereleases.
  if (a.length === 0 || b.length === 0) return Math.sign(b.length - a.length);
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = compareIdentifiers(part, other);
    if (order !== 0) return order;
  }
  return compare(a.length, b.length);
}

/** Numeric identifiers have lower precedence than alphanumeric ones. */
function compareIdentifiers(left: string, right: string): number {
  const isNumber = (text: string) => /^[0-9]+$/.test(text);
  if (isNumber(left) && isNumber(right)) return compare(BigInt(left), BigInt(right));
  if (isNumber(left) !== isNumber(right)) return isNumber(left) ? -1 : 1;
  return compare(left, right);
}

function compare<T extends string | number | bigint>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
