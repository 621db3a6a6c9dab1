import { identity } from "#base";

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number | bigint;
}

/** Merges tolerations; drops entries that are covered by others. */
export function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): readonly Toleration[] {
  const all = [...first, ...second];
  const later = new Coverage();
  const isCoveredLater = all
    .toReversed()
    .map((each) => {
      const isCovered = later.coversDifferently(each);
      later.add(each);
      return isCovered;
    })
    .toReversed();
  const kept = new Coverage();
  return all.filter((each, index) => {
    if (isCoveredLater[index] || kept.covers(each)) return false;
    kept.add(each);
    return true;
  });
}

interface Reach {
  /** Equal for equal tolerations. */
  readonly identity: unknown;
  readonly seconds: number | bigint;
}

const forever = Number.POSITIVE_INFINITY;

/**
 * Index of tolerations that finds whether one covers another, i.e. matches all its taints for at least as
 * long. Tolerations that differ only in duration share an entry with the two longest, so that lookups take
 * constant time.
 */
export class Coverage {
  readonly #identities = new Set<unknown>();
  /** By key, effect and value; the longest duration first. */
  readonly #places = new Map<string, readonly Reach[]>();

  add(wide: Toleration): void {
    const own = identity(wide);
    if (this.#identities.has(own)) return;
    this.#identities.add(own);
    const { key = "", operator, value = "", effect = "", tolerationSeconds } = wide;
    const exists = operator === "Exists";
    const isForAll = exists && key === "";
    const place = placeOf(isForAll ? undefined : key, effect, exists ? undefined : value);
    const seconds = effect === "NoExecute" ? (tolerationSeconds ?? forever) : forever;
    const reaches = [...(this.#places.get(place) ?? []), { identity: own, seconds }];
    reaches.sort((left, right) => (left.seconds < right.seconds ? 1 : -1));
    this.#places.set(place, reaches.slice(0, 2));
  }

  covers(narrow: Toleration): boolean {
    return this.#identities.has(identity(narrow)) || this.coversDifferently(narrow);
  }

  /** Whether another, unequal toleration covers it. */
  coversDifferently(narrow: Toleration): boolean {
    const { key = "", operator, value = "", effect = "", tolerationSeconds: least } = narrow;
    // As in Kubernetes, an absent operator of the covered one is not treated as Equal.
    const isEqual = operator === "Equal";
    const own = identity(narrow);
    const seconds = least ?? forever;
    for (const wideKey of [key, undefined]) {
      for (const wideEffect of new Set([effect, ""])) {
        for (const wideValue of isEqual ? [value, undefined] : [undefined]) {
          const reaches = this.#places.get(placeOf(wideKey, wideEffect, wideValue)) ?? [];
          const other = reaches.find((reach) => reach.identity !== own);
          if (other !== undefined && seconds <= other.seconds) return true;
        }
      }
    }
    return false;
  }
}

/** Index key; undefined = any key or any value. */
function placeOf(key: string | undefined, effect: string, value: string | undefined): string {
  return JSON.stringify([key ?? 0, effect, value ?? 0]);
}
