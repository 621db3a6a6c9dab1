import { assign, atOnce, memoize } from "#base";
import { canonicalBase64 } from "./base64.ts";
import { checkDepth, maxRecursion, tooDeep } from "../fault/depth.ts";
import { DecodeFault } from "../fault/faults.ts";
import { literalAt, negativeZero } from "./json-literals.ts";
import { dropsZero, goTypeName, jsonFields, type JsonField, resolved } from "../struct/layout.ts";
import { ScalarFault } from "../fault/scalar-fault.ts";
import type { Infer, ListType, MapType, ScalarType, StructType, Type } from "../struct/types.ts";
import { mapEntryWeight, WeightBudget, weightOf } from "../struct/weight.ts";
import { isAlwaysThere, zeroOf } from "../struct/zero.ts";

interface FromJsonOptions {
  /**
   * The value is a whole object: `apiVersion` and `kind` are known fields, read by someone else.
   */
  readonly root?: boolean;
  /**
   * Receives the paths of unknown fields, `spec.containers[0].imagePolicy`, in document order, each
   * once.
   */
  readonly unknown?: string[] | undefined;
  /** Keeps members of open structs unchanged, including nulls, as they have been checked already. */
  readonly unpruned?: boolean;
  /** `ParsedJson.literals`: numbers may have stored literals. */
  readonly literals?: boolean;
  /** Maximum total weight of list elements and map entries, see `weightOf`. */
  readonly maxWeight?: number | undefined;
}

/**
 * Decodes a parsed JSON value as Go does, into normal form (see types.ts). Names are case-sensitive. The
 * result shares no object or list with `value`, except those that a scalar's codec returns.
 * @throws DecodeFault with the message of Go's decoder: the first fault of a scalar with its own codec
 *   (Time, Quantity), which ends Go's decoding, or else the first fault
 * @throws TooManyValues
 */
export function fromJson<S extends StructType<any>>(
  struct: S,
  value: unknown,
  options: FromJsonOptions = {},
): Infer<S> {
  try {
    return decodeRoot(struct, value, new DecodeContext(options)) as Infer<S>;
  } catch (fault) {
    const rest = new DecodeContext({ ...options, unknown: undefined }, true);
    if (fault instanceof DecodeFault) decodeRoot(struct, value, rest);
    throw fault;
  }
}

function decodeRoot(struct: StructType<any>, value: unknown, place: DecodeContext): unknown {
  try {
    return decoderOf(struct)(value, place);
  } catch (fault) {
    if (fault instanceof ScalarFault) throw new DecodeFault(fault.message);
    throw fault;
  }
}

/** Maximum number of reported unknown fields, as in Kubernetes. */
const maxUnknown = 100;

/**
 * State of one decode. Leaves do not update the path, which is built only for a fault.
 */
class DecodeContext {
  /** Field names, list indexes, and map keys (wrapped, as Go's errors omit them). */
  readonly steps: (string | number | readonly [key: string])[] = [];
  readonly unknown: string[] | undefined;
  readonly literals: boolean;
  readonly unpruned: boolean;
  readonly budget: WeightBudget | undefined;
  root: boolean;
  /** The current field of an open struct, which Go decodes as a separate value. */
  inside = "";
  depth = 0;
  /** Literal of the current number, if its value does not preserve it. */
  literal: string | undefined = undefined;

  constructor(
    options: FromJsonOptions,
    /** Skips values of a wrong JSON type, as Go's decoder does after the first. */
    readonly passesMismatches = false,
  ) {
    this.unknown = options.unknown;
    this.literals = options.literals ?? false;
    this.unpruned = options.unpruned ?? false;
    this.root = options.root ?? false;
    const { maxWeight } = options;
    this.budget = maxWeight === undefined ? undefined : new WeightBudget(maxWeight);
  }

  addUnknown(name: string): void {
    const { unknown } = this;
    if (unknown === undefined || unknown.length >= maxUnknown) return;
    let path = "";
    for (const step of this.steps) {
      if (typeof step === "number") path += `[${step}]`;
      else path += path === "" ? step : `.${typeof step === "string" ? step : step[0]}`;
    }
    const inner = path === "" ? name : `${path}.${name}`;
    const full = this.inside === "" ? inner : `${this.inside}.${inner}`;
    if (!unknown.includes(full)) unknown.push(full);
  }

  /** The struct and field path in Go's messages, without indexes and keys. */
  located(fault: ScalarFault, structName: string, field: string | undefined): DecodeFault {
    if (fault.mismatch === undefined) return new DecodeFault(fault.message);
    const names = this.steps.filter((step) => typeof step === "string");
    if (field !== undefined) names.push(field);
    const { value, goType } = fault.mismatch;
    const where =
      names.length === 0 ? "Go value" : `Go struct field ${structName}.${names.join(".")}`;
    return new DecodeFault(`json: cannot unmarshal ${value} into ${where} of type ${goType}`);
  }
}

/** Returns undefined for values that are dropped: null, or empty with `omitempty`. */
type Decode = (value: unknown, place: DecodeContext) => unknown;

const decoderOf: (type: Type) => Decode = memoize((type: Type): Decode => {
  switch (type.tag) {
    case "string":
      return decodeString(goTypeName(type));
    case "bool":
      return decodeBool;
    case "int32":
      return decodeInt32;
    case "int64":
      return decodeInt64;
    case "double":
      return decodeDouble;
    case "bytes":
      return decodeBytes;
    case "scalar":
      return decodeScalar(type);
    case "list":
      return decodeList(type as ListType);
    case "map":
      return decodeMap(type as MapType);
    case "struct":
      return decodeStruct(type);
    case "lazy":
      return decodeLazy(type.resolve);
  }
});

/** Reports a type mismatch; returns undefined if mismatches are skipped. */
function refuse(value: unknown, goType: string, place: DecodeContext): undefined {
  return refuseFor(ScalarFault.mismatched(jsonTypeName(value), goType), place);
}

function refuseFor(fault: ScalarFault, place: DecodeContext): undefined {
  if (place.passesMismatches) return undefined;
  throw fault;
}

function jsonTypeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Reports a number that does not fit its integer type, with its literal as in Go. */
function refuseNumber(value: unknown, goType: string, place: DecodeContext): undefined {
  if (typeof value !== "number" && typeof value !== "bigint") return refuse(value, goType, place);
  const digits = `number ${place.literal ?? String(value)}`;
  return refuseFor(ScalarFault.mismatched(digits, goType), place);
}

function decodeString(goType: string): Decode {
  return (value, place) => (typeof value === "string" ? value : refuse(value, goType, place));
}

const decodeBool: Decode = (value, place) =>
  typeof value === "boolean" ? value : refuse(value, "bool", place);

/** Whether the literal of a whole number is an integer: `-0` is, but not `1.0` or `1e1`. */
function isInteger(literal: string | undefined): boolean {
  return literal === undefined || literal === negativeZero;
}

const decodeInt32: Decode = (value, place) => {
  if (typeof value === "number" && (value | 0) === value && isInteger(place.literal)) {
    return value + 0;
  }
  return refuseNumber(value, "int32", place);
};

const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);

const decodeInt64: Decode = (value, place) => {
  if (typeof value === "number" && Number.isSafeInteger(value) && isInteger(place.literal)) {
    return value + 0;
  }
  if (typeof value === "bigint" && value >= minInt64 && value <= maxInt64) {
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  return refuseNumber(value, "int64", place);
};

const decodeDouble: Decode = (value, place) => {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  return refuseNumber(value, "float64", place);
};

const decodeBytes: Decode = (value, place) => {
  if (Array.isArray(value)) return bytesOfArray(value, place);
  if (typeof value !== "string") return refuse(value, "[]uint8", place);
  const text = canonicalBase64(value);
  if (typeof text === "string") return text;
  return refuseFor(new ScalarFault(`illegal base64 data at input byte ${text}`), place);
};

/** Decodes an array of small integers, which Go also accepts for `[]byte`. */
function bytesOfArray(values: readonly unknown[], place: DecodeContext): string | undefined {
  const octets = new Uint8Array(values.length);
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const literal = place.literals ? literalAt(values, index) : undefined;
    const isOctet = typeof value === "number" && (value & 0xff) === value && isInteger(literal);
    if (isOctet) octets[index] = value;
    else {
      place.literal = literal;
      return refuseNumber(value, "uint8", place);
    }
  }
  return Buffer.from(octets).toString("base64");
}

function decodeScalar(type: ScalarType): Decode {
  return (value, place) => {
    if (place.literal !== undefined && type.fromNumber !== undefined) {
      return type.fromNumber(place.literal);
    }
    const decoded = type.fromJson(value);
    if (typeof decoded === "object") checkDepth(decoded);
    return decoded;
  };
}

function decodeLazy(resolve: () => Type): Decode {
  let decode: Decode | undefined;
  return (value, place) => {
    decode ??= decoderOf(resolve());
    if (++place.depth > maxRecursion) throw tooDeep();
    const decoded = decode(value, place);
    place.depth--;
    return decoded;
  };
}

function decodeList(type: ListType): Decode {
  const goType = goTypeName(type);
  const decode = decoderOf(type.element);
  const zero = zeroOf(type.element);
  let weight: number | undefined;
  return (value, place) => {
    if (!Array.isArray(value)) return refuse(value, goType, place);
    const { steps, budget } = place;
    budget?.spend(value.length * (weight ??= weightOf(type.element)));
    const decoded: unknown[] = [];
    const level = steps.push(0) - 1;
    for (let index = 0; index < value.length; index++) {
      const element: unknown = value[index];
      steps[level] = index;
      if (place.literals) place.literal = literalAt(value, index);
      decoded.push(element === null ? zero() : decode(element, place));
    }
    steps.pop();
    return decoded;
  };
}

function decodeMap(type: MapType): Decode {
  const goType = goTypeName(type);
  const decode = decoderOf(type.value);
  const zero = zeroOf(type.value);
  const isNested = nests(type.value);
  let weight: number | undefined;
  return (value, place) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return refuse(value, goType, place);
    }
    const source = value as Readonly<Record<string, unknown>>;
    const decoded: Record<string, unknown> = {};
    for (const key in source) {
      const element = source[key];
      place.budget?.spend((weight ??= mapEntryWeight(type.value)));
      if (place.literals) place.literal = literalAt(value, key);
      if (isNested) place.steps.push([key]);
      assign(decoded, key, element === null ? zero() : decode(element, place));
      if (isNested) place.steps.pop();
    }
    return decoded;
  };
}

/** Whether values of the type contain others. */
function nests(type: Type): boolean {
  const { tag } = type;
  return tag === "struct" || tag === "list" || tag === "map" || tag === "lazy";
}

/** @throws DecodeFault for a number beyond float64 */
function checkFinite(holder: object, key: string | number): void {
  const value = (holder as Readonly<Record<string | number, unknown>>)[key];
  if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) value.forEach((_item, index) => checkFinite(value, index));
    else for (const name of Object.keys(value)) checkFinite(value, name);
  } else if (typeof value === "number" && !Number.isFinite(value)) {
    const literal = literalAt(holder, key) ?? String(value);
    throw new DecodeFault(`json: cannot unmarshal number ${literal} into Go value of type float64`);
  }
}

interface FieldDecoder {
  readonly decode: Decode;
  readonly isNested: boolean;
  /** Values that are dropped. */
  readonly drops: "nothing" | "zero" | "null";
}

function fieldDecoder(field: JsonField): FieldDecoder {
  const type = resolved(field.type);
  const decode = decoderOf(field.type);
  const isNested = nests(field.type);
  // An empty list or map is not an absent one until the object is stored: messages show the difference.
  if (type.tag === "list" || type.tag === "map") return { decode, isNested, drops: "nothing" };
  if (type.tag === "scalar") {
    const isShown = type.keptWhenEmpty && !field.presence.pointer && !field.omitZero;
    return { decode, isNested, drops: isShown || !field.presence.omitEmpty ? "nothing" : "null" };
  }
  const drops = dropsZero(field) ? "zero" : "nothing";
  return { decode, isNested, drops };
}

function isDropped({ drops }: FieldDecoder, value: unknown): boolean {
  if (drops === "nothing") return false;
  if (drops === "null") return value === null;
  return value === "" || value === false || value === 0;
}

function decodeStruct(type: StructType<any>): Decode {
  const { name } = type;
  const goType = goTypeName(type);
  const fields = new Map(jsonFields(type).map((field) => [field.name, fieldDecoder(field)]));
  const filled = jsonFields(type)
    .filter(isAlwaysThere)
    .map((field) => ({ name: field.name, zero: zeroOf(field) }));
  const { open } = type;
  return (value, place) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return refuse(value, goType, place);
    }
    const isRoot = place.root;
    place.root = false;
    const source = value as Readonly<Record<string, unknown>>;
    const decoded: Record<string, unknown> = {};
    let at: string | undefined;
    try {
      for (const key in source) {
        const field = fields.get(key);
        if (field === undefined) {
          if (isRoot && (key === "apiVersion" || key === "kind")) continue;
          if (open === undefined) place.addUnknown(key);
          else if (source[key] !== undefined) {
            place.budget?.spendOn(source[key]);
            if (place.literals) checkFinite(source, key);
            assign(decoded, key, source[key]);
          }
          continue;
        }
        const member = source[key];
        if (member === null || member === undefined) continue;
        if (place.literals) place.literal = literalAt(value, key);
        let result: unknown;
        if (open !== undefined) {
          place.inside = key;
          result = field.decode(member, place);
          place.inside = "";
        } else if (field.isNested) {
          at = undefined;
          place.steps.push(key);
          result = field.decode(member, place);
          place.steps.pop();
        } else {
          at = key;
          result = field.decode(member, place);
        }
        if (!isDropped(field, result)) decoded[key] = result;
      }
    } catch (fault) {
      if (fault instanceof ScalarFault) throw place.located(fault, name, at);
      throw fault;
    }
    for (const { name: missing, zero } of filled) {
      if (decoded[missing] === undefined) decoded[missing] = zero();
    }
    if (!place.unpruned && open !== undefined) atOnce(open.prune(decoded, place.unknown));
    return decoded;
  };
}
