import { setBounded } from "#base";

/**
 * Quantities such as `100m`, `1.5Gi`, `12e6`: exact numbers with their format. The rules are those of
 * apimachinery, except that digits and exponents that would take unbounded time or memory are rejected.
 */

type QuantityFormat = "DecimalSI" | "DecimalExponent" | "BinarySI";

/** A text that is not a quantity; the message is for clients. */
export class QuantityFault extends Error {
  override readonly name = "QuantityFault";
}

const wrongFormMessage =
  "quantities must match the regular expression " +
  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const wrongSuffixMessage = "unable to parse quantity's suffix";
const wrongNumberMessage = "unable to parse numeric part of quantity";

/** Exponent of the finest resolution; smaller amounts are rounded away from zero. */
const minExponent = -9;
/**
 * Maximum number of digits without rounding and capping.
 */
const plainDigits = 18;
/** Maximum amount with a binary suffix; larger ones are capped. */
const maxBinary = 2n ** 63n - 1n;
/**
 * Maximum exponent, as a client could otherwise choose the memory of exact arithmetic.
 */
const maxExponent = 1_000;
/** Maximum length of texts, for the same reason. */
const maxLength = 1_000;

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const binarySuffixes: ReadonlyMap<string, number> = new Map([
  ["Ki", 10],
  ["Mi", 20],
  ["Gi", 30],
  ["Ti", 40],
  ["Pi", 50],
  ["Ei", 60],
]);
const decimalNames = new Map([...decimalSuffixes].map(([name, power]) => [power, name]));
const binaryNames = new Map([...binarySuffixes].map(([name, power]) => [power, name]));

/** What a suffix multiplies by: `base ** exponent`. */
interface QuantitySuffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

interface Parts {
  readonly negative: boolean;
  /** Digits before the point without leading zeros, at least `0`. */
  readonly whole: string;
  /** Digits after the point. */
  readonly fraction: string;
  /** Sign, digits and point as written. */
  readonly written: string;
  readonly suffix: string;
}

/** Cache of recently parsed quantities by text. */
const parseCache = new Map<string, Quantity>();
const maxCached = 1_000;
const maxCachedLength = 32;

/** An exact amount: `mantissa * 10^exponent`. Immutable. */
export class Quantity {
  private constructor(
    readonly mantissa: bigint,
    readonly exponent: number,
    readonly format: QuantityFormat,
    /** Text kept as the client wrote it, where only its spelling differs from the canonical one. */
    private readonly spelling?: string,
  ) {}

  static readonly zero = new Quantity(0n, 0, "DecimalSI");

  static of(amount: bigint | number, format: QuantityFormat = "DecimalSI"): Quantity {
    return new Quantity(BigInt(amount), 0, format);
  }

  /** Reads a quantity; throws QuantityFault. Each write reads the same few texts many times. */
  static parse(text: string): Quantity {
    const known = parseCache.get(text);
    if (known !== undefined) return known;
    const quantity = Quantity.read(text);
    if (text.length <= maxCachedLength) {
      setBounded(parseCache, [text, quantity], maxCached);
    }
    return quantity;
  }

  private static read(text: string): Quantity {
    if (text === "") throw new QuantityFault(wrongFormMessage);
    if (text.length > maxLength) throw new QuantityFault(wrongNumberMessage);
    const parts = split(text);
    const suffix = quantitySuffix(parts.suffix);
    return fits(parts, suffix)
      ? Quantity.plain(parts, suffix, text)
      : Quantity.capped(parts, suffix);
  }

  /** The usual case: the digits as written, shifted by the suffix. */
  private static plain(parts: Parts, suffix: QuantitySuffix, text: string): Quantity {
    const digits = BigInt(parts.whole + parts.fraction);
    const signed = parts.negative ? -digits : digits;
    if (suffix.base === 2) {
      const quantity = new Quantity(signed << BigInt(suffix.exponent), 0, suffix.format);
      const sign = parts.negative ? "-" : "";
      const same = quantity.canonical() === `${sign}${parts.whole}${parts.suffix}`;
      return same ? quantity.spelled(text) : quantity;
    }
    const exponent = suffix.exponent - parts.fraction.length;
    const quantity = new Quantity(signed, exponent, suffix.format);
    const canonical = thousands(signed, exponent);
    const same = canonical.mantissa === signed && canonical.exponent === exponent;
    const isWhole = parts.fraction === "" && signed !== 0n;
    return same && isWhole ? quantity.spelled(text) : quantity;
  }

  /** Long numbers: rounded to the finest place, and capped where the suffix is binary. */
  private static capped(parts: Parts, suffix: QuantitySuffix): Quantity {
    if (!/\d/.test(parts.written)) throw new QuantityFault(wrongNumberMessage);
    const digits = BigInt(parts.whole + parts.fraction);
    const scaled = suffix.base === 2 ? digits << BigInt(suffix.exponent) : digits;
    const exponent = (suffix.base === 10 ? suffix.exponent : 0) - parts.fraction.length;
    const magnitude = new Quantity(scaled, exponent, suffix.format).roundUp(minExponent);
    const binary = suffix.format === "BinarySI";
    const largest = Quantity.of(maxBinary, suffix.format);
    const capped = binary && magnitude.compare(largest) > 0 ? largest : magnitude;
    const small = binary && !capped.isZero && capped.compare(Quantity.of(1)) < 0;
    const mantissa = parts.negative ? -capped.mantissa : capped.mantissa;
    return new Quantity(mantissa, capped.exponent, small ? "DecimalSI" : suffix.format);
  }

  private spelled(text: string): Quantity {
    return new Quantity(this.mantissa, this.exponent, this.format, text);
  }

  get isZero(): boolean {
    return this.mantissa === 0n;
  }
  get sign(): -1 | 0 | 1 {
    return this.mantissa < 0n ? -1 : this.mantissa > 0n ? 1 : 0;
  }

  /** Negative, zero or positive as this is less than, equal to or more than `other`. */
  compare(other: Quantity): number {
    const lowest = Math.min(this.exponent, other.exponent);
    const mine = this.at(lowest);
    const theirs = other.at(lowest);
    return mine < theirs ? -1 : mine > theirs ? 1 : 0;
  }

  equals(other: Quantity): boolean {
    return this.compare(other) === 0;
  }

  /** The sum, in this one's format (in the other's when this is zero). */
  add(other: Quantity): Quantity {
    const lowest = Math.min(this.exponent, other.exponent);
    const format = this.isZero ? other.format : this.format;
    return new Quantity(this.at(lowest) + other.at(lowest), lowest, format);
  }

  subtract(other: Quantity): Quantity {
    return this.add(other.negate());
  }

  negate(): Quantity {
    return new Quantity(-this.mantissa, this.exponent, this.format);
  }

  /**
   * Drops places finer than 10^exponent, away from zero. Keeps the spelling when there are none.
   */
  roundUp(exponent: number): Quantity {
    if (this.exponent >= exponent) return this;
    return new Quantity(this.scaledTo(exponent), exponent, this.format);
  }

  /** The amount as an integer, rounded away from zero. */
  value(): bigint {
    return this.scaledTo(0);
  }

  /** The amount in thousandths, rounded away from zero. */
  milliValue(): bigint {
    return this.scaledTo(-3);
  }

  get isInteger(): boolean {
    return this.exponent >= 0 || this.mantissa % 10n ** BigInt(-this.exponent) === 0n;
  }

  toNumber(): number {
    return Number(`${this.mantissa}e${this.exponent}`);
  }

  /** Canonical text, but for spellings like `+5M`, `1E3` and `010`, which are kept. */
  toString(): string {
    return this.spelling ?? this.canonical();
  }

  /** No fraction, the largest suffix that leaves an integer, at least one digit. */
  canonical(): string {
    if (this.isZero) return "0";
    if (this.format === "BinarySI" && this.isInteger) {
      const value = this.at(0);
      if (value <= -1024n || value >= 1024n) return binaryText(value);
    }
    const { mantissa, exponent } = thousands(this.mantissa, this.exponent);
    if (this.format === "DecimalExponent") {
      return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
    }
    // Amounts that need more than the largest suffix lose it: so does the reference.
    return `${mantissa}${decimalNames.get(exponent) ?? ""}`;
  }

  /** The mantissa at an exponent that is not above this one's; or at 0 for an integer. */
  private at(exponent: number): bigint {
    return exponent <= this.exponent
      ? this.mantissa * 10n ** BigInt(this.exponent - exponent)
      : this.mantissa / 10n ** BigInt(exponent - this.exponent);
  }

  private scaledTo(exponent: number): bigint {
    if (exponent <= this.exponent) return this.at(exponent);
    const unit = 10n ** BigInt(exponent - this.exponent);
    const whole = this.mantissa / unit;
    if (this.mantissa % unit === 0n) return whole;
    return this.mantissa < 0n ? whole - 1n : whole + 1n;
  }
}

function split(text: string): Parts {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text);
  if (match === null) throw new QuantityFault(wrongFormMessage);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  return {
    negative: sign === "-",
    whole: whole.replace(/^0+/, "") || "0",
    fraction,
    written: text.slice(0, text.length - suffix.length),
    suffix,
  };
}

/** @throws QuantityFault */
export function quantitySuffix(text: string): QuantitySuffix {
  const power = decimalSuffixes.get(text);
  if (power !== undefined) return { base: 10, exponent: power, format: "DecimalSI" };
  const binary = binarySuffixes.get(text);
  if (binary !== undefined) return { base: 2, exponent: binary, format: "BinarySI" };
  const digits = /^[eE]([-+]?\d+)$/.exec(text)?.[1];
  const exponent = Number(digits);
  if (digits === undefined || Math.abs(exponent) > maxExponent) {
    throw new QuantityFault(wrongSuffixMessage);
  }
  return { base: 10, exponent, format: "DecimalExponent" };
}

function fits(parts: Parts, suffix: QuantitySuffix): boolean {
  if (suffix.base === 2) {
    const room = 14 - parts.whole.length - Math.trunc((suffix.exponent * 3) / 10);
    return parts.fraction === "" && room >= 0;
  }
  const digits = parts.whole.length + parts.fraction.length;
  return digits <= plainDigits && suffix.exponent - parts.fraction.length >= minExponent;
}

/**
 * Normalizes the amount so that the exponent is a multiple of 3, with the fewest trailing zeros.
 */
function thousands(mantissa: bigint, exponent: number): { mantissa: bigint; exponent: number } {
  let digits = mantissa;
  let power = exponent;
  while (digits !== 0n && digits % 10n === 0n) {
    digits /= 10n;
    power += 1;
  }
  while (power % 3 !== 0) {
    digits *= 10n;
    power -= 1;
  }
  return { mantissa: digits, exponent: power };
}

function binaryText(value: bigint): string {
  let digits = value;
  let power = 0;
  while (digits % 1024n === 0n) {
    digits /= 1024n;
    power += 10;
  }
  return `${digits}${binaryNames.get(power) ?? ""}`;
}
