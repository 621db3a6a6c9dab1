import { identity } from "#base";

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number | bigint;
}

/** Both lists, without entries that another entry covers. */
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
  /** The same for equal tolerations. */
  readonly identity: unknown;
  readonly seconds: number | bigint;
}

const forever = Number.POSITIVE_INFINITY;

/**
 * Tolerations, indexed for the question whether one of them covers another: matches every taint that
 * the other one matches, for at least as long. Tolerations that differ in duration only share an
 * entry, in which the two longest are kept, so that a question costs the same for any number.
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

  /** Whether a toleration that is not equal to it covers it. */
  coversDifferently(narrow: Toleration): boolean {
    const { key = "", operator, value = "", effect = "", tolerationSeconds: least } = narrow;
    // As in Kubernetes, an absent operator of the narrow one is not taken for Equal.
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

/** Key of the index; undefined stands for any key, and any value. */
function placeOf(key: string | undefined, effect: string, value: string | undefined): string {
  return JSON.stringify([key ?? 0, effect, value ?? 0]);
}
