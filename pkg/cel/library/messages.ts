/** Well-known Protobuf messages that expressions can construct: times, wrappers and JSON. */
import { timestampAt } from "../value/time.ts";
import { toInt, toUint } from "../value/numbers.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  string,
  timestamp,
  uint,
} from "../check/types.ts";
import {
  CelFault,
  Double,
  Duration,
  HashMap,
  ArrayList,
  Uint,
  type Value,
} from "../value/values.ts";

export interface Message {
  readonly fields: ReadonlyMap<string, CelType>;
  /** Type of the value: wrappers and JSON are dynamic. */
  readonly type: CelType;
  make(fields: Readonly<Record<string, Value>>): Value;
}

function message(
  fields: Readonly<Record<string, CelType>>,
  type: CelType,
  make: Message["make"],
): Message {
  return { fields: new Map(Object.entries(fields)), type, make };
}

function wrapper(type: CelType, zero: Value, checked: (value: Value) => Value = (value) => value) {
  return message({ value: type }, dyn, ({ value = zero }) => checked(value));
}

function integer(value: Value | undefined): bigint {
  return typeof value === "number" || typeof value === "bigint" ? BigInt(value) : 0n;
}

const int32 = (value: Value): Value => {
  const number = integer(value);
  if (BigInt.asIntN(32, number) !== number) throw new CelFault("integer overflow");
  return toInt(number);
};
const uint32 = (value: Value): Value => {
  const number = value instanceof Uint ? value.value : 0n;
  if (number >= 2n ** 32n) throw new CelFault("unsigned integer overflow");
  return toUint(number);
};
const float = (value: Value): Value =>
  value instanceof Double ? new Double(Math.fround(value.value)) : value;

const nanosPerSecond = 1_000_000_000n;
const moment = { seconds: int, nanos: int };
const json = {
  null_value: int,
  number_value: double,
  string_value: string,
  bool_value: bool,
  struct_value: mapOf(string, dyn),
  list_value: listOf(dyn),
};

const messages: ReadonlyMap<string, Message> = new Map([
  [
    "Timestamp",
    message(moment, timestamp, ({ seconds, nanos }) =>
      timestampAt(Number(integer(seconds)), Number(integer(nanos))),
    ),
  ],
  [
    "Duration",
    message(moment, duration, ({ seconds, nanos }) => {
      const span = integer(seconds) * nanosPerSecond + integer(nanos);
      if (BigInt.asIntN(64, span) !== span) throw new CelFault("duration overflow");
      return new Duration(span);
    }),
  ],
  ["BoolValue", wrapper(bool, false)],
  ["BytesValue", wrapper(bytes, new Uint8Array())],
  ["DoubleValue", wrapper(double, new Double(0))],
  ["FloatValue", wrapper(double, new Double(0), float)],
  ["Int32Value", wrapper(int, 0, int32)],
  ["Int64Value", wrapper(int, 0)],
  ["StringValue", wrapper(string, "")],
  ["UInt32Value", wrapper(uint, new Uint(0n), uint32)],
  ["UInt64Value", wrapper(uint, new Uint(0n))],
  ["Value", message(json, dyn, (fields) => onlyValue(fields))],
  [
    "Struct",
    message({ fields: mapOf(string, dyn) }, mapOf(string, dyn), ({ fields }) =>
      fields === undefined ? new HashMap() : fields,
    ),
  ],
  [
    "ListValue",
    message({ values: listOf(dyn) }, listOf(dyn), ({ values }) =>
      values === undefined ? new ArrayList([]) : values,
    ),
  ],
]);

function onlyValue({ null_value: isNull, ...rest }: Readonly<Record<string, Value>>): Value {
  return isNull === undefined ? (Object.values(rest)[0] ?? null) : null;
}

const protobufPackage = "google.protobuf.";

/** The message with the full name. */
export function wellKnownMessage(name: string): Message | undefined {
  return name.startsWith(protobufPackage)
    ? messages.get(name.slice(protobufPackage.length))
    : undefined;
}
