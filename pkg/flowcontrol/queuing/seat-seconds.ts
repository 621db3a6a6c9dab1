/**
 * Work in seat-seconds, as integers of 1e-8 seat-seconds: sums stay exact up to 2^53, about 90
 * million seat-seconds.
 */
const unitsPerSeatSecond = 1e8;

/** The work of occupying `seats` for `milliseconds`. */
export function seatsTimesDuration(seats: number, milliseconds: number): number {
  return Math.round((seats * milliseconds * unitsPerSeatSecond) / 1000);
}

/** Time in ms for which `seats` seats do the work. */
export function durationPerSeat(work: number, seats: number): number {
  return (work / seats / unitsPerSeatSecond) * 1000;
}

/** Work as a fraction of a seat-second, for metrics. */
export function toSeatSeconds(work: number): number {
  return work / unitsPerSeatSecond;
}

/** Text form in dumps: seconds, eight decimals and "ss". */
export function formatSeatSeconds(work: number): string {
  const size = Math.abs(work);
  const whole = Math.floor(size / unitsPerSeatSecond);
  const rest = String(size - whole * unitsPerSeatSecond).padStart(8, "0");
  return `${work < 0 ? "-" : ""}${whole}.${rest}ss`;
}
