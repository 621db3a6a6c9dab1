/** Amounts with suffixes, compared and added exactly. */
import { Quantity, QuantityFault } from "#meta";
import { define, type Library, overload, readType } from "../../check/declare.ts";
import { toInt } from "../../value/numbers.ts";
import { CelFault, Double, Opaque, type Value } from "../../value/values.ts";

const TYPE = "kubernetes.Quantity";
const LARGEST = 2n ** 63n - 1n;

type Amount = Opaque<Quantity>;
type Int = number | bigint;

function opaque(quantity: Quantity): Amount {
  let { mantissa, exponent } = quantity;
  while (mantissa !== 0n && mantissa % 10n === 0n) {
    mantissa /= 10n;
    exponent++;
  }
  return new Opaque(TYPE, quantity, mantissa === 0n ? "0" : `${mantissa}e${exponent}`);
}

function read(text: string): Quantity | QuantityFault {
  try {
    return Quantity.parse(text);
  } catch (error) {
    if (error instanceof QuantityFault) return error;
    throw error;
  }
}

function parse(text: string): Value {
  const quantity = read(text);
  if (quantity instanceof QuantityFault) throw new CelFault(quantity.message);
  return opaque(quantity);
}

/** Whether the amount is an int64. */
function isWhole({ content }: Amount): boolean {
  if (!content.isInteger) return false;
  const value = content.value();
  return value <= LARGEST && value >= -LARGEST - 1n;
}

function asInteger(amount: Amount): Value {
  if (!isWhole(amount)) throw new CelFault("cannot convert value to integer");
  return toInt(amount.content.value());
}

const whole = (value: Int): Quantity => Quantity.of(value);

export const quantityLibrary: Library = {
  types: [readType(TYPE)],
  functions: [
    define("quantity", overload("string_to_quantity", `(string) -> ${TYPE}`, parse)),
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
      overload("quantity_sign", `${TYPE}.() -> int`, ({ content }: Amount) => content.sign),
    ),
    define("isInteger", overload("quantity_is_integer", `${TYPE}.() -> bool`, isWhole)),
    define("asInteger", overload("quantity_get_int", `${TYPE}.() -> int`, asInteger)),
    define(
      "asApproximateFloat",
      overload(
        "quantity_get_float",
        `${TYPE}.() -> double`,
        ({ content }: Amount) => new Double(content.toNumber()),
      ),
    ),
    define(
      "isGreaterThan",
      overload(
        "quantity_is_greater_than",
        `${TYPE}.(${TYPE}) -> bool`,
        (left: Amount, right: Amount) => left.content.compare(right.content) > 0,
      ),
    ),
    define(
      "isLessThan",
      overload(
        "quantity_is_less_than",
        `${TYPE}.(${TYPE}) -> bool`,
        (left: Amount, right: Amount) => left.content.compare(right.content) < 0,
      ),
    ),
    define(
      "compareTo",
      overload("quantity_compare_to", `${TYPE}.(${TYPE}) -> int`, (left: Amount, right: Amount) =>
        Math.sign(left.content.compare(right.content)),
      ),
    ),
    define(
      "add",
      overload("quantity_add", `${TYPE}.(${TYPE}) -> ${TYPE}`, (left: Amount, right: Amount) =>
        opaque(left.content.add(right.content)),
      ),
      overload("quantity_add_int", `${TYPE}.(int) -> ${TYPE}`, (left: Amount, right: Int) =>
        opaque(left.content.add(whole(right))),
      ),
    ),
    define(
      "sub",
      overload("quantity_sub", `${TYPE}.(${TYPE}) -> ${TYPE}`, (left: Amount, right: Amount) =>
        opaque(left.content.subtract(right.content)),
      ),
      overload("quantity_sub_int", `${TYPE}.(int) -> ${TYPE}`, (left: Amount, right: Int) =>
        opaque(left.content.subtract(whole(right))),
      ),
    ),
  ],
};
