/** Sets of completion indexes as sorted intervals, in the notation of a Job's status: `0,2-4`. */

export interface Interval {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** Sorted and disjoint, with a gap between neighbours. */
export type Intervals = readonly Interval[];

/**
 * Parses `0,2-4`; drops indexes >= `completions`. Invalid parts are skipped, so that a status written by
 * another client does not block the controller.
 */
export function parseIntervals(text: string, completions: number): Intervals {
  const result: Interval[] = [];
  for (const part of text === "" ? [] : text.split(",")) {
    const [, low, high = low] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part) ?? [];
    if (low === undefined) continue;
    const first = Number(low);
    if (first >= completions) break;
    const last = Math.min(Number(high), completions - 1);
    if (first <= last) result.push({ first, last });
  }
  return union([], result);
}

export function formatIntervals(intervals: Intervals): string {
  return intervals
    .map(({ first, last }) => {
      if (first === last) return String(first);
      return `${first}${last === first + 1 ? "," : "-"}${last}`;
    })
    .join(",");
}

/** Union of two sorted lists. */
export function union(left: Intervals, right: Intervals): Intervals {
  const result: { first: number; last: number }[] = [];
  const push = ({ first, last }: Interval) => {
    const end = result.at(-1);
    if (end === undefined || first > end.last + 1) result.push({ first, last });
    else end.last = Math.max(end.last, last);
  };
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const next = left[i];
    const other = right[j];
    if (next !== undefined && (other === undefined || next.first < other.first)) {
      push(next);
      i++;
    } else if (other !== undefined) {
      push(other);
      j++;
    }
  }
  return result;
}

/** Adds single indexes in any order. */
export function withIndexes(intervals: Intervals, indexes: Iterable<number>): Intervals {
  const sorted = [...indexes].sort((a, b) => a - b);
  return union(
    intervals,
    sorted.map((index) => ({ first: index, last: index })),
  );
}

/** Number of indexes. */
export function countIndexes(intervals: Intervals): number {
  return intervals.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

export function hasIndex(intervals: Intervals, index: number): boolean {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (intervals[middle]!.last < index) low = middle + 1;
    else high = middle;
  }
  const found = intervals[low];
  return found !== undefined && found.first <= index;
}

/** Number of indexes that both contain. */
export function countCommon(left: Intervals, right: Intervals): number {
  let count = 0;
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    const [a, b] = [left[i]!, right[j]!];
    count += Math.max(Math.min(a.last, b.last) - Math.max(a.first, b.first) + 1, 0);
    if (a.last <= b.last) i++;
    if (b.last <= a.last) j++;
  }
  return count;
}

/** The lowest `count` indexes below `completions` that are not in `taken`. */
export function firstMissing(taken: Intervals, count: number, completions: number): number[] {
  const result: number[] = [];
  let candidate = 0;
  for (const { first, last } of [...taken, { first: completions, last: completions }]) {
    const end = Math.min(first, completions);
    while (candidate < end && result.length < count) result.push(candidate++);
    if (result.length === count) break;
    candidate = Math.max(candidate, last + 1);
  }
  return result;
}
