/** A class to which seats are allocated: lower ≤ target, lower ≤ upper. */
export interface AllocationClass {
  readonly target: number;
  readonly lower: number;
  readonly upper: number;
}

export interface Allocation {
  /** Seats by class. */
  readonly seats: readonly number[];
  /** Seats per unit of target, for classes at neither bound. */
  readonly fairFraction: number;
}

/** Minimum of targets, which avoids division by zero. */
const minTarget = 0.001;
const epsilon = 1e-7;

/**
 * Divides `sum` seats among classes in proportion to their targets, within the bounds of each: finds
 * the fraction f for which the sum of `f · target`, clamped to the bounds, is `sum`.
 * @returns undefined if the bounds do not permit the sum.
 */
export function allocateSeats(
  sum: number,
  classes: readonly AllocationClass[],
): Allocation | undefined {
  const lowest = total(classes.map(({ lower }) => lower));
  const highest = total(classes.map(({ upper }) => upper));
  const isInconsistent = classes.some(
    ({ target, lower, upper }) => lower < 0 || target < lower || upper < lower,
  );
  if (isInconsistent || lowest - sum > epsilon || sum - highest > epsilon) return undefined;
  if (sum === 0) return { seats: classes.map(() => 0), fairFraction: 0 };
  const targets = classes.map(({ target }) => Math.max(target, minTarget));
  const ratios = (bound: "lower" | "upper") =>
    classes.map((each, index) => each[bound] / (targets[index] as number));
  if (lowest - sum > -epsilon) {
    return { seats: classes.map(({ lower }) => lower), fairFraction: Math.min(...ratios("lower")) };
  }
  if (sum - highest > -epsilon) {
    return { seats: classes.map(({ upper }) => upper), fairFraction: Math.max(...ratios("upper")) };
  }
  const bends = [
    ...ratios("lower").map((at, index) => ({ at, slope: targets[index] as number })),
    ...ratios("upper").map((at, index) => ({ at, slope: -(targets[index] as number) })),
  ];
  const fairFraction = solve(sum, lowest, bends);
  const seats = classes.map(({ lower, upper }, index) =>
    Math.max(lower, Math.min(upper, fairFraction * (targets[index] as number))),
  );
  return { seats, fairFraction };
}

interface Breakpoint {
  readonly at: number;
  /** Change of the slope. */
  readonly slope: number;
}

/** The position where a piecewise linear function, `start` before the first breakpoint, is `value`. */
function solve(value: number, start: number, bends: readonly Breakpoint[]): number {
  let position = 0;
  let reached = start;
  let slope = 0;
  for (const bend of bends.toSorted((a, b) => a.at - b.at)) {
    const next = reached + slope * (bend.at - position);
    if (next >= value) break;
    reached = next;
    position = bend.at;
    slope += bend.slope;
  }
  return position + (value - reached) / slope;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}
