/**
 * Run-time values. An int is a number if it is a safe integer, else a bigint, so that small ones are
 * fast and all are exact; doubles and uints are boxed. Strings, booleans, null and bytes are native.
 */

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Double
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | OptionalValue
  | Opaque
  | ListValue
  | MapValue;

/** An evaluation error. Thrown; logical operators may absorb it. */
export class CelFault {
  constructor(readonly message: string) {}
}

export function noSuchOverload(): CelFault {
  return new CelFault("no such overload");
}

export function noSuchKey(key: Value): CelFault {
  return new CelFault(`no such key: ${displayed(key)}`);
}

export class Double {
  constructor(readonly value: number) {}
}

export class Uint {
  constructor(readonly value: bigint) {}
}

/** Unix time in whole seconds, which may be negative, and nanoseconds. */
export class Timestamp {
  constructor(
    readonly seconds: number,
    readonly nanos: number,
    /** Offset in seconds east of UTC, for formatting. */
    readonly offset = 0,
  ) {}
}

/** A duration in nanoseconds, within int64. */
export class Duration {
  constructor(readonly nanos: bigint) {}
}

export class TypeValue {
  constructor(readonly name: string) {}
}

export class OptionalValue {
  constructor(readonly value: Value | undefined) {}
  static readonly none = new OptionalValue(undefined);
}

/** A value of a library's type. Values are equal if their types and keys are. */
export class Opaque<T = unknown> {
  constructor(
    readonly type: string,
    readonly content: T,
    readonly key: unknown,
  ) {}
}

/** A list, whose elements may be computed on access. */
export abstract class ListValue {
  abstract readonly length: number;
  abstract at(index: number): Value;

  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  /** Whether numbers of all types are accepted as indexes, or only ints. */
  readonly takesAnyNumber: boolean = true;

  /** Equality; overridden by lists with set or map semantics. */
  equals(other: ListValue): boolean {
    if (this.length !== other.length) return false;
    for (let index = 0; index < this.length; index++) {
      if (!equal(this.at(index), other.at(index))) return false;
    }
    return true;
  }

  concat(other: ListValue): ListValue {
    return new ArrayList([...this, ...other]);
  }
}

/** A list of computed values. */
export class ArrayList extends ListValue {
  constructor(readonly items: readonly Value[]) {
    super();
  }
  override get length(): number {
    return this.items.length;
  }
  override at(index: number): Value {
    return this.items[index] ?? null;
  }
}

/** A map or an object with fields. */
export abstract class MapValue {
  abstract readonly size: number;
  /** Result of `type(x)`. */
  abstract readonly typeName: string;
  abstract find(key: Value): Value | undefined;
  /** The value of a field or of a string key. */
  abstract field(name: string): Value | undefined;
  abstract keys(): Iterable<Value>;

  /** Operator `in`; differs from `find` in maps with a default value. */
  contains(key: Value): boolean {
    return this.find(key) !== undefined;
  }

  equals(other: MapValue): boolean {
    if (this.size !== other.size) return false;
    for (const key of this.keys()) {
      const own = this.find(key);
      const others = other.find(key);
      if (own === undefined || others === undefined || !equal(own, others)) return false;
    }
    return true;
  }
}

type NativeKey = string | boolean | number | bigint;

/** A native key, the same for equal numbers; undefined for a value that cannot be a key. */
function nativeKey(key: Value): NativeKey | undefined {
  switch (typeof key) {
    case "string":
    case "boolean":
    case "number":
    case "bigint":
      return key;
    default:
  }
  if (key instanceof Uint) return canonical(key.value);
  if (key instanceof Double && Number.isInteger(key.value)) return canonical(BigInt(key.value));
  return undefined;
}

/** A map constructed by an expression. */
export class HashMap extends MapValue {
  private readonly entries = new Map<NativeKey, readonly [Value, Value]>();
  override readonly typeName = "map";

  static of(pairs: Iterable<readonly [Value, Value]>): HashMap {
    const map = new HashMap();
    for (const [key, value] of pairs) map.add(key, value);
    return map;
  }

  /** @throws CelFault if the key exists or is invalid */
  add(key: Value, value: Value): void {
    const native = key instanceof Double ? undefined : nativeKey(key);
    if (native === undefined) throw new CelFault(`unsupported key type: ${typeName(key)}`);
    if (this.entries.has(native)) {
      throw new CelFault("Failed with repeated key");
    }
    this.entries.set(native, [key, value]);
  }

  override get size(): number {
    return this.entries.size;
  }
  override find(key: Value): Value | undefined {
    const native = nativeKey(key);
    return native === undefined ? undefined : this.entries.get(native)?.[1];
  }
  override field(name: string): Value | undefined {
    return this.entries.get(name)?.[1];
  }
  override *keys(): Iterable<Value> {
    for (const [key] of this.entries.values()) yield key;
  }
}

/** The canonical representation of an int within int64: a number if that is exact. */
export function canonical(value: bigint): number | bigint {
  return value <= 9_007_199_254_740_991n && value >= -9_007_199_254_740_991n
    ? Number(value)
    : value;
}

/** Name of the value's type, for `type(x)` and messages. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "number":
    case "bigint":
      return "int";
    case "string":
      return "string";
    default:
  }
  if (value === null) return "null_type";
  if (value instanceof ListValue) return "list";
  if (value instanceof MapValue) return value.typeName;
  if (value instanceof Double) return "double";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof OptionalValue) return "optional_type";
  return value instanceof Opaque ? value.type : "bytes";
}

/** The Go type of cel-go's native value, as `%T` prints it. */
export function goTypeName(value: Value): string {
  const name = typeName(value);
  return goTypes[name] ?? (value instanceof MapValue ? "map[ref.Val]ref.Val" : name);
}

const goTypes: Readonly<Record<string, string>> = {
  int: "int64",
  uint: "uint64",
  double: "float64",
  bytes: "[]uint8",
  list: "[]ref.Val",
  null_type: "structpb.NullValue",
  "google.protobuf.Timestamp": "time.Time",
  "google.protobuf.Duration": "time.Duration",
};

/** Heterogeneous equality: numbers compare by value across types, other values only within their type. */
export function equal(left: Value, right: Value): boolean {
  if (typeof left === "string" || typeof left === "boolean" || left === null) {
    return left === right;
  }
  if (typeof left === "number" && typeof right === "number") return left === right;
  if (isNumeric(left)) return isNumeric(right) && compareNumbers(left, right) === 0;
  if (left instanceof ListValue) {
    if (!(right instanceof ListValue)) return false;
    // List semantics of either operand take precedence.
    return left instanceof ArrayList ? right.equals(left) : left.equals(right);
  }
  if (left instanceof MapValue) return right instanceof MapValue && left.equals(right);
  return equalObjects(left, right);
}

function equalObjects(left: Value, right: Value): boolean {
  if (left instanceof Uint8Array) {
    return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  }
  if (left instanceof Timestamp) {
    return (
      right instanceof Timestamp && left.seconds === right.seconds && left.nanos === right.nanos
    );
  }
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof OptionalValue) {
    if (!(right instanceof OptionalValue)) return false;
    if (left.value === undefined || right.value === undefined) return left.value === right.value;
    return equal(left.value, right.value);
  }
  if (left instanceof Opaque) {
    return right instanceof Opaque && left.type === right.type && left.key === right.key;
  }
  return false;
}

export type Numeric = number | bigint | Double | Uint;

export function isNumeric(value: Value): value is Numeric {
  return (
    typeof value === "number" ||
    typeof value === "bigint" ||
    value instanceof Double ||
    value instanceof Uint
  );
}

/**
 * -1, 0 or 1; NaN if an operand is NaN. Exact for ints and uints; with a double, the other operand is
 * converted to double, as in cel-go.
 */
export function compareNumbers(left: Numeric, right: Numeric): number {
  const asDouble = left instanceof Double || right instanceof Double;
  const plain = (value: Numeric): number | bigint => {
    const inner = value instanceof Double || value instanceof Uint ? value.value : value;
    return asDouble ? Number(inner) : inner;
  };
  const own = plain(left);
  const other = plain(right);
  if (own < other) return -1;
  if (own > other) return 1;
  return Number.isNaN(own) || Number.isNaN(other) ? Number.NaN : 0;
}

/** The value in error messages. */
export function displayed(value: Value): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
    case "bigint":
      return String(value);
    default:
  }
  if (value instanceof Double || value instanceof Uint) return String(value.value);
  return `${typeName(value)}{}`;
}
