/** Number keywords of schemas, with kube-openapi's arithmetic. */
import type { JsonSchema } from "../schema/json-schema.ts";

/** Relative difference up to which a fraction is considered an integer. */
const epsilon = 1e-9;

/** Whether the number is an integer up to rounding, within the range of exact doubles. */
export function isJsonInteger(value: number): boolean {
  if (Number.isSafeInteger(value)) return true;
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return false;
  const whole = Math.trunc(Math.abs(value));
  const magnitude = Math.abs(value);
  return whole > 0 && (magnitude - whole) / (magnitude + whole) < epsilon;
}

type Numeric = number | bigint;

export function isInteger(value: Numeric): boolean {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** Violated rules, each as the end of the message `<path> in body should …`. */
export function numberFaults(value: Numeric, source: JsonSchema): readonly string[] {
  const faults: string[] = [];
  const { multipleOf, minimum, maximum } = source;
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
    faults.push(`be a multiple of ${goNumber(multipleOf)}`);
  }
  if (minimum !== undefined) {
    const min = bound(minimum, value);
    const isExclusive = source.exclusiveMinimum === true;
    if (value < min || (isExclusive && value <= min)) {
      faults.push(`be greater than ${isExclusive ? "" : "or equal to "}${goNumber(min)}`);
    }
  }
  if (maximum !== undefined) {
    const max = bound(maximum, value);
    const isExclusive = source.exclusiveMaximum === true;
    if (value > max || (isExclusive && value >= max)) {
      faults.push(`be less than ${isExclusive ? "" : "or equal to "}${goNumber(max)}`);
    }
  }
  return faults;
}

/** For integers, Kubernetes truncates the bound to an integer. */
function bound(limit: number, value: Numeric): Numeric {
  if (!isInteger(value)) return limit;
  return typeof value === "bigint" && Number.isFinite(limit)
    ? BigInt(Math.trunc(limit))
    : Math.trunc(limit);
}

function isMultiple(value: Numeric, factor: number): boolean {
  if (factor <= 0) return false;
  const isWhole = isInteger(value) && Number.isInteger(factor);
  if (isWhole) return BigInt(value) % BigInt(factor) === 0n;
  const number = Number(value);
  return isJsonInteger(factor < 1 ? (1 / factor) * number : number / factor);
}

/** Go's `%v` of a number: exponents have two digits and are used below 1e-4. */
function goNumber(value: Numeric): string {
  if (typeof value === "bigint" || value === 0) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude >= 1e-4 && magnitude < 1e21) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}
