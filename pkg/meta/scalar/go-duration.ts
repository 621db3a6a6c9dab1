import { ScalarFault } from "#schema";

/** Go's `time.ParseDuration` and `Duration.String`. */

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n,
  "\u03bcs": 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const maxInt64 = 2n ** 63n - 1n;
const maxLength = 1_000;

/** Parses a duration into nanoseconds. @throws ScalarFault with Go's message */
export function parseDuration(text: string): bigint {
  const invalid = (): ScalarFault =>
    new ScalarFault(`time: invalid duration ${JSON.stringify(text)}`);
  const sign = /^[-+]/.exec(text)?.[0] ?? "";
  let rest = text.slice(sign.length);
  if (rest === "0") return 0n;
  if (rest === "" || text.length > maxLength) throw invalid();
  let total = 0n;
  while (rest !== "") {
    const [, whole = "", point = "", fraction = ""] = /^(\d*)(\.?)(\d*)/.exec(rest) ?? [];
    if (whole === "" && fraction === "") throw invalid();
    rest = rest.slice(whole.length + point.length + fraction.length);
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? "";
    const quoted = JSON.stringify(text);
    if (unit === "") throw new ScalarFault(`time: missing unit in duration ${quoted}`);
    const size = Object.hasOwn(units, unit) ? units[unit] : undefined;
    if (size === undefined) {
      throw new ScalarFault(`time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`);
    }
    rest = rest.slice(unit.length);
    total += BigInt(whole || "0") * size;
    total += (BigInt(fraction || "0") * size) / 10n ** BigInt(fraction.length);
    if (total > maxInt64 + (sign === "-" ? 1n : 0n)) throw invalid();
  }
  return sign === "-" ? -total : total;
}

/** `1h30m0s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  const sign = nanoseconds < 0n ? "-" : "";
  const span = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (span < 1_000n) return `${sign}${span}ns`;
  if (span < 1_000_000n) return `${sign}${decimal(span, 3)}\u00b5s`;
  if (span < 1_000_000_000n) return `${sign}${decimal(span, 6)}ms`;
  const minutes = span / 60_000_000_000n;
  const seconds = `${decimal(span % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  const hours = minutes / 60n;
  const tail = `${minutes % 60n}m${seconds}`;
  return hours === 0n ? sign + tail : `${sign}${hours}h${tail}`;
}

/** `amount / 10^places` without trailing zeros. */
function decimal(amount: bigint, places: number): string {
  const unit = 10n ** BigInt(places);
  const fraction = (amount % unit).toString().padStart(places, "0").replace(/0+$/, "");
  return fraction === "" ? `${amount / unit}` : `${amount / unit}.${fraction}`;
}
