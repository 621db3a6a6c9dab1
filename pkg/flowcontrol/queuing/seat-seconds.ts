/** Work is an integer in units of 1e-8 seat-seconds: exact up to 2^53, 90 million seat-seconds. */
const unitsPerSeatSecond = 1e8;

/** Work of `seats` seats for `milliseconds`. */
export function seatsTimesDuration(seats: number, milliseconds: number): number {
  return Math.round((seats * milliseconds * unitsPerSeatSecond) / 1000);
}

/** Time in ms that `seats` seats take for the work. */
export function durationPerSeat(work: number, seats: number): number {
  return (work / seats / unitsPerSeatSecond) * 1000;
}

/** Work in seat-seconds, for metrics. */
export function toSeatSeconds(work: number): number {
  return work / unitsPerSeatSecond;
}

/** Format of Kubernetes' dumps: seat-seconds with eight decimals and the unit "ss". */
export function formatSeatSeconds(work: number): string {
  const size = Math.abs(work);
  const whole = Math.floor(size / unitsPerSeatSecond);
  const rest = String(size - whole * unitsPerSeatSecond).padStart(8, "0");
  return `${work < 0 ? "-" : ""}${whole}.${rest}ss`;
}
