/** Formats doubles with a given number of fraction digits, rounded half to even. */

/** Fixed-point notation of the exact binary value. */
export function exactFixed(number: number, precision: number): string {
  const scale = 10n ** BigInt(precision);
  const { numerator, denominator } = fraction(Math.abs(number));
  const digits = String(rounded(numerator * scale, denominator)).padStart(precision + 1, "0");
  const whole = digits.slice(0, digits.length - precision);
  const sign = isNegative(number) ? "-" : "";
  return precision === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-precision)}`;
}

/** `1,234.500000`, `∞`. */
export function localFixed(number: number, precision: number): string {
  if (!Number.isFinite(number)) return nonFinite(number);
  const [whole = "", ...rest] = exactFixed(number, precision).split(".");
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ","), ...rest].join(".");
}

/** Always six: Kubernetes applies the precision of the clause as width. */
const scientificDigits = 6;

/** `1.234500×10⁰³`. */
export function localScientific(number: number, width: number): string {
  if (!Number.isFinite(number)) return nonFinite(number).padStart(width);
  const [mantissa = "", exponent = ""] = roundedExponential(Math.abs(number)).split("e");
  const power = Number(exponent);
  const digits = String(Math.abs(power)).padStart(2, "0");
  const raised = [...digits].map((digit) => superscripts[Number(digit)]).join("");
  const sign = isNegative(number) ? "-" : "";
  return `${sign}${mantissa}×10${power < 0 ? "⁻" : ""}${raised}`.padStart(width);
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function nonFinite(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  return number > 0 ? "∞" : "-∞";
}

/** `toExponential` with rounding half to even instead of half up. */
function roundedExponential(number: number): string {
  const halfUp = number.toExponential(scientificDigits);
  const [exact = "", exponent = ""] = number.toExponential(20).split("e");
  const isHalfway = /^\d\.\d{6}50*$/.test(exact);
  const before = exact.slice(0, 2 + scientificDigits);
  return isHalfway && Number(before.at(-1)) % 2 === 0 ? `${before}e${exponent}` : halfUp;
}

function rounded(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const isUp = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return isUp ? quotient + 1n : quotient;
}

/** The double as an exact fraction. */
function fraction(number: number): { numerator: bigint; denominator: bigint } {
  let scaled = number;
  let denominator = 1n;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    denominator *= 2n;
  }
  return { numerator: BigInt(scaled), denominator };
}

function isNegative(number: number): boolean {
  return number < 0 || Object.is(number, -0);
}
