/** Kubernetes' quantity library, with exact arithmetic. */
import { Quantity, QuantityFault, quantitySuffix } from "#meta";
import { define, type Library, overload } from "../../check/declare.ts";
import { toInt } from "../../value/numbers.ts";
import { CelFault, Double, Opaque, type Value } from "../../value/values.ts";

const quantityType = "kubernetes.Quantity";
const maxInt = 2n ** 63n - 1n;

type Int = number | bigint;

/** A quantity with apimachinery's internal representation, which determines `isInteger`. */
interface QuantityState {
  readonly quantity: Quantity;
  /** int64Amount: `value` × 10^`scale`; undefined for infDecAmount. */
  readonly exact: ScaledInteger | undefined;
  /** Whether it is a sum or difference, which is an error as the right operand of `==`. */
  readonly isComputed: boolean;
}

interface ScaledInteger {
  readonly value: bigint;
  readonly scale: number;
}

type QuantityValue = Opaque<QuantityState>;

function opaque(held: QuantityState): QuantityValue {
  let { mantissa, exponent } = held.quantity;
  while (mantissa !== 0n && mantissa % 10n === 0n) {
    mantissa /= 10n;
    exponent++;
  }
  return new Opaque(quantityType, held, mantissa === 0n ? "0" : `${mantissa}e${exponent}`);
}

function read(text: string): Quantity | QuantityFault {
  try {
    return Quantity.parse(text);
  } catch (error) {
    if (error instanceof QuantityFault) return error;
    throw error;
  }
}

/** @throws CelFault */
export function quantityValue(text: string): Value {
  const quantity = read(text);
  if (quantity instanceof QuantityFault) throw new CelFault(quantity.message);
  return opaque({ quantity, exact: exactOf(text), isComputed: false });
}

/** The int64Amount of a text; undefined if it has too many digits, depending on the suffix. */
function exactOf(text: string): ScaledInteger | undefined {
  const [, sign = "", digits = "", fraction = "", suffix = ""] =
    /^([+-]?)0*(\d*)(?:\.(\d*))?(.*)$/.exec(text) ?? [];
  const whole = digits === "" ? "0" : digits;
  const { base, exponent } = quantitySuffix(suffix);
  const isBinary = base === 2;
  const precision = isBinary
    ? 15 - whole.length - Math.trunc((exponent * 3) / 10) - 1
    : 18 - whole.length - fraction.length;
  const scale = (isBinary ? 0 : exponent) - fraction.length;
  if (precision < 0 || scale < -9 || (isBinary && fraction !== "")) return undefined;
  const value = BigInt(whole + fraction) << BigInt(isBinary ? exponent : 0);
  return withinInt64({ value: sign === "-" ? -value : value, scale });
}

function withinInt64(exact: ScaledInteger): ScaledInteger | undefined {
  return exact.value <= maxInt && exact.value >= -maxInt - 1n ? exact : undefined;
}

function sumOf(
  left: ScaledInteger | undefined,
  right: ScaledInteger | undefined,
): ScaledInteger | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (right.value === 0n) return left;
  if (left.value === 0n) return right;
  const scale = Math.min(left.scale, right.scale);
  const at = (each: ScaledInteger) => each.value * 10n ** BigInt(each.scale - scale);
  return withinInt64({ value: at(left) + at(right), scale });
}

function add({ content: left }: QuantityValue, right: Omit<QuantityState, "isComputed">): Value {
  const quantity = left.quantity.add(right.quantity);
  return opaque({ quantity, exact: sumOf(left.exact, right.exact), isComputed: true });
}

function negated({
  quantity,
  exact,
}: Omit<QuantityState, "isComputed">): Omit<QuantityState, "isComputed"> {
  return {
    quantity: quantity.negate(),
    exact: exact && { value: -exact.value, scale: exact.scale },
  };
}

/** The int64 value; undefined for fractions and infDecAmounts. */
function integerOf({ content: { exact } }: QuantityValue): bigint | undefined {
  if (exact === undefined || exact.scale < 0) return undefined;
  return withinInt64({ value: exact.value * 10n ** BigInt(exact.scale), scale: 0 })?.value;
}

function asInteger(amount: QuantityValue): Value {
  const value = integerOf(amount);
  if (value === undefined) throw new CelFault("cannot convert value to integer");
  return toInt(value);
}

function asFloat({ content: { quantity, exact } }: QuantityValue): Value {
  if (exact === undefined) return new Double(quantity.toNumber());
  return new Double(Number(exact.value) * 10 ** exact.scale);
}

const whole = (value: Int) => ({
  quantity: Quantity.of(value),
  exact: { value: BigInt(value), scale: 0 },
});
const compare = ({ content: left }: QuantityValue, { content: right }: QuantityValue): number =>
  Math.sign(left.quantity.compare(right.quantity));

export const quantityLibrary: Library = {
  functions: [
    define(
      "quantity",
      overload("string_to_quantity", `(string) -> ${quantityType}`, quantityValue),
    ),
    define(
      "isQuantity",
      overload(
        "is_quantity_string",
        "(string) -> bool",
        (text: string) => read(text) instanceof Quantity,
      ),
    ),
    define(
      "sign",
      overload(
        "quantity_sign",
        `(${quantityType}) -> int`,
        ({ content }: QuantityValue) => content.quantity.sign,
      ),
    ),
    define(
      "isInteger",
      overload(
        "quantity_is_integer",
        `${quantityType}.() -> bool`,
        (amount: QuantityValue) => integerOf(amount) !== undefined,
      ),
    ),
    define("asInteger", overload("quantity_get_int", `${quantityType}.() -> int`, asInteger)),
    define(
      "asApproximateFloat",
      overload("quantity_get_float", `${quantityType}.() -> double`, asFloat),
    ),
    define(
      "isGreaterThan",
      overload(
        "quantity_is_greater_than",
        `${quantityType}.(${quantityType}) -> bool`,
        (left: QuantityValue, right: QuantityValue) => compare(left, right) > 0,
      ),
    ),
    define(
      "isLessThan",
      overload(
        "quantity_is_less_than",
        `${quantityType}.(${quantityType}) -> bool`,
        (left: QuantityValue, right: QuantityValue) => compare(left, right) < 0,
      ),
    ),
    define(
      "compareTo",
      overload("quantity_compare_to", `${quantityType}.(${quantityType}) -> int`, compare),
    ),
    define(
      "add",
      overload(
        "quantity_add",
        `${quantityType}.(${quantityType}) -> ${quantityType}`,
        (left: QuantityValue, right: QuantityValue) => add(left, right.content),
      ),
      overload(
        "quantity_add_int",
        `${quantityType}.(int) -> ${quantityType}`,
        (left: QuantityValue, right: Int) => add(left, whole(right)),
      ),
    ),
    define(
      "sub",
      overload(
        "quantity_sub",
        `${quantityType}.(${quantityType}) -> ${quantityType}`,
        (left: QuantityValue, right: QuantityValue) => add(left, negated(right.content)),
      ),
      overload(
        "quantity_sub_int",
        `${quantityType}.(int) -> ${quantityType}`,
        (left: QuantityValue, right: Int) => add(left, negated(whole(right))),
      ),
    ),
  ],
};
