import type { ConcurrencyLimits, PriorityLevelSettings } from "../contract.ts";
import { allocateSeats } from "./concurrency-allocation.ts";
import type { SeatDemand } from "../queuing/seat-demand.ts";

/** State of a priority level for an adjustment of the current limits. */
export interface Borrower {
  readonly isExempt: boolean;
  readonly limits: ConcurrencyLimits;
  readonly demand: SeatDemand;
  readonly currentLimit: number;
}

export interface Adjustment {
  readonly target: number;
  readonly currentLimit: number;
}

export interface Borrowing {
  readonly fairFraction: number;
  /** By borrower. */
  readonly adjustments: readonly Adjustment[];
}

/**
 * Limits of a priority level; `shareSum` is the sum of all shares. Nominal limits are rounded up, so
 * that their sum may slightly exceed `totalConcurrency`.
 */
export function concurrencyLimits(
  settings: PriorityLevelSettings,
  totalConcurrency: number,
  shareSum: number,
): ConcurrencyLimits {
  const { nominalConcurrencyShares: shares, lendablePercent } = settings;
  const nominal = shares > 0 ? Math.ceil((totalConcurrency * shares) / shareSum) : 0;
  const lendable = Math.round((nominal * lendablePercent) / 100);
  const percent = settings.type === "Limited" ? settings.borrowingLimitPercent : undefined;
  const borrowing =
    percent === undefined ? totalConcurrency : Math.round((nominal * percent) / 100);
  return { nominal, lower: nominal - lendable, upper: nominal + borrowing };
}

/**
 * Computes the current limits from the demand of the last period, as kube-apiserver does. An exempt
 * level gets its high watermark. The others get at least their lower limit, then their high watermark
 * up to the nominal limit, then the rest in proportion to their smoothed demand.
 */
export function adjustLimits(nominalSum: number, borrowers: readonly Borrower[]): Borrowing {
  const least = borrowers.map(minLimit);
  const sumOf = (isExempt: boolean, value: (borrower: Borrower, index: number) => number) =>
    borrowers.reduce(
      (sum, each, index) => (each.isExempt === isExempt ? sum + value(each, index) : sum),
      0,
    );
  const leastOf = (_borrower: Borrower, index: number) => least[index] as number;
  const remaining = nominalSum - sumOf(true, leastOf);
  const lowerSum = sumOf(false, ({ limits }) => limits.lower);
  const leastSum = sumOf(false, leastOf);
  const targets = borrowers.map(({ demand }, index) =>
    Math.max(least[index] as number, demand.smoothed),
  );
  const limited = borrowers.flatMap(({ isExempt, limits: { upper } }, index) =>
    isExempt ? [] : [{ target: targets[index] as number, lower: least[index] as number, upper }],
  );
  const allocation = remaining > leastSum ? allocateSeats(nominalSum, limited) : undefined;
  const fraction = remaining <= lowerSum ? 0 : (remaining - lowerSum) / (leastSum - lowerSum);
  let next = 0;
  const limitOf = ({ isExempt, limits: { lower }, currentLimit }: Borrower, index: number) => {
    const own = least[index] as number;
    if (isExempt) return own;
    if (remaining <= leastSum) return lower + Math.round((own - lower) * fraction);
    const seats = allocation?.seats[next++];
    return seats === undefined ? currentLimit : Math.round(seats);
  };
  const adjustments = borrowers.map((borrower, index) => ({
    target: targets[index] as number,
    currentLimit: limitOf(borrower, index),
  }));
  return { fairFraction: allocation?.fairFraction ?? 0, adjustments };
}

/** Seats that a level does not lend: its high watermark, within its nominal and lower limits. */
function minLimit({ isExempt, limits, demand }: Borrower): number {
  const used = isExempt ? demand.highWatermark : Math.min(limits.nominal, demand.highWatermark);
  return Math.max(limits.lower, used);
}
