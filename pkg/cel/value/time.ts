/** Parsing, formatting, ranges and arithmetic of timestamps and durations. */
import { formatDuration, parseDuration } from "#meta";
import { CelFault, Duration, noSuchOverload, Timestamp, type Value } from "./values.ts";

/** Unix times of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;
const maxNanos = 2n ** 63n - 1n;
const nanosPerSecond = 1_000_000_000n;

const rfc3339 =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** Parses RFC 3339. @throws CelFault for other texts and for times outside the years 1 to 9999 */
export function parseTimestampText(text: string): Timestamp {
  const parts = rfc3339.exec(text);
  const invalid = (): CelFault => new CelFault("invalid timestamp");
  if (parts === null) throw invalid();
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map(Number);
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59)
    throw invalid();
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCDate() !== day) throw invalid();
  const offsetHours = Number(parts[9] ?? 0);
  const offsetMinutes = Number(parts[10] ?? 0);
  if (offsetHours > 24 || offsetMinutes > 60) throw invalid();
  const offset = (offsetHours * 3600 + offsetMinutes * 60) * (parts[8] === "-" ? -1 : 1);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset;
  const nanos = Number((parts[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return timestampAt(seconds, nanos, offset);
}

/** @throws CelFault outside the years 1 to 9999 */
export function timestampAt(seconds: number, nanos: number, offset = 0): Timestamp {
  if (seconds < minSeconds || seconds > maxSeconds) throw new CelFault("timestamp overflow");
  return new Timestamp(seconds, nanos, offset);
}

/** RFC 3339 with the timestamp's offset. */
export function formatTimestamp({ seconds, nanos, offset }: Timestamp): string {
  const text = new Date((seconds + offset) * 1000).toISOString().slice(0, -5);
  const fraction = String(nanos).padStart(9, "0").replace(/0+$/, "");
  return `${text}${fraction === "" ? "" : `.${fraction}`}${zoneOf(offset)}`;
}

function zoneOf(offset: number): string {
  if (offset === 0) return "Z";
  const minutes = Math.abs(offset) / 60;
  const parts = [Math.floor(minutes / 60), minutes % 60];
  const [hours, rest] = parts.map((part) => String(part).padStart(2, "0"));
  return `${offset < 0 ? "-" : "+"}${hours}:${rest}`;
}

/** Parses Go's notation. @throws CelFault */
export function parseDurationText(text: string): Duration {
  try {
    return new Duration(parseDuration(text));
  } catch (error) {
    if (error instanceof CelFault) throw error;
    throw new CelFault(error instanceof Error ? error.message : String(error));
  }
}

function durationOf(nanos: bigint): Duration {
  if (nanos > maxNanos || nanos < -maxNanos - 1n) throw new CelFault("integer overflow");
  return new Duration(nanos);
}

/** `string(duration)`: seconds as a double, and `s`. */
export function formatSpan({ nanos }: Duration): string {
  const seconds = Number(nanos / nanosPerSecond) + Number(nanos % nanosPerSecond) / 1e9;
  const [mantissa = "", exponent] = String(seconds).split("e-");
  if (exponent === undefined) return `${mantissa}s`;
  const digits = mantissa.replace(/[-.]/g, "");
  const zeros = "0".repeat(Number(exponent) - 1);
  return `${seconds < 0 ? "-" : ""}0.${zeros}${digits}s`;
}

/** Go's notation: `1h30m0s`. */
export function formatGoSpan({ nanos }: Duration): string {
  return formatDuration(nanos);
}

function shift(moment: Timestamp, nanos: bigint): Timestamp {
  const total = BigInt(moment.nanos) + nanos;
  const within = ((total % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  return timestampAt(
    moment.seconds + Number((total - within) / nanosPerSecond),
    Number(within),
    moment.offset,
  );
}

/** `+` with at least one duration. */
export function addTimes(left: Value, right: Value): Value {
  if (left instanceof Duration && right instanceof Duration) {
    return durationOf(left.nanos + right.nanos);
  }
  if (left instanceof Timestamp && right instanceof Duration) return shift(left, right.nanos);
  if (left instanceof Duration && right instanceof Timestamp) return shift(right, left.nanos);
  throw noSuchOverload();
}

export function subtractTimes(left: Value, right: Value): Value {
  if (left instanceof Duration && right instanceof Duration) {
    return durationOf(left.nanos - right.nanos);
  }
  if (left instanceof Timestamp && right instanceof Duration) return shift(left, -right.nanos);
  if (left instanceof Timestamp && right instanceof Timestamp) {
    const seconds = BigInt(left.seconds - right.seconds);
    return durationOf(seconds * nanosPerSecond + BigInt(left.nanos - right.nanos));
  }
  throw noSuchOverload();
}
