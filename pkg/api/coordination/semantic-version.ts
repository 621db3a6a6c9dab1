/** Versions after semver.org 2.0.0; build metadata is read and forgotten. */
interface SemanticVersion {
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];
}

const number = "(0|[1-9][0-9]*)";
const identifiers = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const pattern = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${identifiers}))?(?:\\+${identifiers})?$`,
);

/** Exactly `1.34.0`, `1.35.0-alpha.1`, `1.34.0+build`; undefined for anything else. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const prerelease = match[4]?.split(".") ?? [];
  if (prerelease.some((part) => /^0[0-9]+$/.test(part))) return undefined;
  return { numbers: match.slice(1, 4).map(BigInt), prerelease };
}

/** Below, at or above zero as `left` is older than, as old as or newer than `right`. */
export function compareVersions(left: SemanticVersion, right: SemanticVersion): number {
  for (const [index, value] of left.numbers.entries()) {
    const order = compare(value, right.numbers[index] ?? 0n);
    if (order !== 0) return order;
  }
  const [a, b] = [left.prerelease, right.prerelease];
  if (a.length === 0 || b.length === 0)
    return compare(b.length === 0 ? 0 : 1, a.length === 0 ? 0 : 1);
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = comparePrerelease(part, other);
    if (order !== 0) return order;
  }
  return compare(a.length, b.length);
}

/** Numbers come before words. */
function comparePrerelease(left: string, right: string): number {
  const isNumber = (text: string) => /^[0-9]+$/.test(text);
  if (isNumber(left) && isNumber(right)) return compare(BigInt(left), BigInt(right));
  if (isNumber(left) !== isNumber(right)) return isNumber(left) ? -1 : 1;
  return compare(left, right);
}

function compare<T extends string | number | bigint>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
